// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/audit/sites.hpp"

#include "previrt/layout_constants.hpp"
#include "toolchain/image/site_table.hpp"

#include <algorithm>
#include <array>
#include <iomanip>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

namespace previrt {

namespace {

constexpr std::array<const char*, 5> shape_names{"implicit", "registers", "memory", "immediate", "dx"};

struct Tally {
    std::uint64_t sites = 0;
    std::uint64_t instruction_bytes = 0;
    std::uint64_t padding_bytes = 0;

    void add(const SiteRecord& record) {
        ++sites;
        instruction_bytes += record.instruction_length();
        padding_bytes += record.padding_length();
    }
};

void print_row(std::ostream& out, const std::string& name, const Tally& tally, const char* remark) {
    out << std::left << std::setw(32) << name << std::right << std::setw(8) << tally.sites << std::setw(13)
        << tally.instruction_bytes << std::setw(10) << tally.padding_bytes << remark << '\n';
}

} // namespace

void print_sites_text(std::ostream& out, const KernelFile& file) {
    const std::vector<Site> sites = read_site_table(file, Places(file.elf));
    std::map<std::uint8_t, Tally> tallies;
    std::map<std::uint8_t, Tally> constants;
    Tally total;
    for (const Site& site : sites) {
        tallies[site.record.kind].add(site.record);
        total.add(site.record);
        if (static_cast<SiteKind>(site.record.kind) == SiteKind::layout_constant) {
            constants[site.record.operand].add(site.record);
        }
    }
    out << file.path << ": " << sites.size() << " sites";
    if (file.packed) {
        out << " (" << name_of(*file.packed) << "-compressed kernel)";
    }
    out << "\n\n" << "kind                               sites  instruction   padding\n";
    for (const auto& [kind, tally] : tallies) {
        const SiteKindInfo& info = *find_site_kind(kind);
        print_row(out, info.name, tally, info.silent ? "   does not fault at CPL 3" : "");
    }
    print_row(out, "all", total, "   bytes");
    if (!constants.empty()) {
        out << "\nof layout_constant\n";
    }
    for (const auto& [constant, tally] : constants) {
        print_row(out, find_layout_constant(constant)->name, tally, "");
    }
}

void print_sites_json(std::ostream& out, const KernelFile& file) {
    const Places places(file.elf);
    nlohmann::json list = nlohmann::json::array();
    std::map<std::string, std::uint64_t> by_kind;
    for (const Site& site : read_site_table(file, places)) {
        const SiteRecord& record = site.record;
        const SiteKindInfo& info = *find_site_kind(record.kind);
        const Place place = places.at(site.address);
        nlohmann::json json{{"section", place.section},
                            {"offset", place.offset},
                            {"kind", info.name},
                            {"shape", shape_names.at(static_cast<std::size_t>(record.shape()))},
                            {"width", record.width()},
                            {"repeats", record.repeats()},
                            {"operand", record.operand},
                            {"instruction_length", record.instruction_length()},
                            {"padding_length", record.padding_length()}};
        if (info.annotates == Annotates::constant) {
            json["constant"] = find_layout_constant(record.operand)->name;
        }
        if (place.symbol) {
            json["symbol"] = *place.symbol;
            json["symbol_offset"] = place.symbol_offset;
        }
        ++by_kind[info.name];
        list.push_back(std::move(json));
    }
    const nlohmann::json json{{"file", file.path}, {"sites_by_kind", by_kind}, {"sites", list}};
    out << json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

} // namespace previrt
