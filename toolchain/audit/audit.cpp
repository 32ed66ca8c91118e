// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/audit/audit.hpp"

#include "host/input_error.hpp"
#include "toolchain/audit/code_map.hpp"
#include "toolchain/image/site_table.hpp"
#include "toolchain/llvm/instruction_decoder.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <unordered_map>
#include <utility>

namespace previrt {

namespace {

constexpr std::size_t most_bytes_shown = 15;

std::string hex_bytes(std::span<const std::uint8_t> bytes) {
    std::string text;
    for (const std::uint8_t byte : bytes) {
        std::array<char, 4> digits{};
        static_cast<void>(std::snprintf(digits.data(), digits.size(), text.empty() ? "%02x" : " %02x", byte));
        text += digits.data();
    }
    return text;
}

std::span<const std::uint8_t> bytes_at(const ElfImage& image, std::uint64_t address, std::size_t length) {
    const Section& section = *image.section_at(address);
    const auto rest = section.bytes.subspan(address - section.address);
    return rest.first(std::min(rest.size(), length));
}

// Compares the form of each record with the decoder's: different tools wrote the two.
void check_record_forms(const KernelFile& file, const std::vector<Site>& sites, const Places& places,
                        const InstructionDecoder& decoder) {
    for (std::size_t i = 0; i < sites.size(); ++i) {
        const SiteRecord& record = sites[i].record;
        const SiteKindInfo& info = *find_site_kind(record.kind);
        const bool in_front = info.padding == Padding::front;
        const std::uint64_t address = sites[i].address + (in_front ? record.padding_length() : 0);
        const auto instruction =
            decoder.decode(bytes_at(file.elf, address, record.instruction_length()), address);
        std::optional<SiteForm> form;
        if (instruction && instruction->length == record.instruction_length()) {
            form = info.annotates == Annotates::nothing
                       ? instruction->sensitive
                       : decoder.classifier().classify_annotated(info.kind, instruction->decoded);
        }
        if (form && info.annotates != Annotates::nothing) {
            form->operand = record.operand; // level or tag: the instruction does not show them
        }
        const SiteForm recorded{info.kind, record.shape(), record.width(), record.operand};
        if (!form || *form != recorded) {
            throw InputError(
                file.path + ": record " + std::to_string(i) + " for " + places.at(sites[i].address).text() +
                ": it says " + info.name + " with operand form " + hex(record.form) + ", " +
                hex(record.operand) +
                ", the bytes there are: " + hex_bytes(bytes_at(file.elf, address, most_bytes_shown)));
        }
    }
}

class Auditor {
public:
    Auditor(const KernelFile& file, ExceptionList& exceptions, const ElfImage* symbols)
        : file_(file), symbols_(symbols == nullptr ? file.elf : *symbols), exceptions_(exceptions),
          places_(file.elf, &symbols_), decoder_(target_) {}

    AuditReport run() {
        const std::vector<Site> sites = read_site_table(file_, places_);
        check_record_forms(file_, sites, places_, decoder_);
        const CodeMap map(file_.elf, symbols_, sites, decoder_);

        report_.file = file_.path;
        report_.instructions = map.instruction_count();
        report_.data_bytes = map.data_bytes();
        report_.records = sites.size();
        for (const Site& site : sites) {
            ++report_.records_by_kind[find_site_kind(site.record.kind)->name];
        }
        for (const CodeMap::SensitiveInstruction& instruction : map.sensitive()) {
            if (!is_recorded(sites, instruction)) {
                add_unrecorded(instruction);
            }
        }
        for (const CodeMap::SensitiveInstruction& instruction : map.layout_constants()) {
            if (is_annotated(sites, instruction.form.operand) && !is_recorded(sites, instruction)) {
                add_unrecorded(instruction);
            }
        }
        for (const std::uint64_t address : map.undecodable()) {
            add(report_.undecodable, finding_at(address, most_bytes_shown));
        }
        for (const CodeMap::Range& range : map.doubtful()) {
            add_doubt({.place = places_.at(range.address), .length = range.length, .reason = {}});
        }
        return report_;
    }

private:
    // Execution may also begin behind the padding in front.
    static bool is_recorded(const std::vector<Site>& sites,
                            const CodeMap::SensitiveInstruction& instruction) {
        const auto after = std::ranges::upper_bound(sites, instruction.address, {}, &Site::address);
        if (after == sites.begin()) {
            return false;
        }
        const Site& site = *(after - 1);
        const SiteKindInfo& info = *find_site_kind(site.record.kind);
        const std::uint64_t offset = instruction.address - site.address;
        const std::uint64_t padding = info.padding == Padding::front ? site.record.padding_length() : 0;
        return info.kind == instruction.form.kind && offset <= padding &&
               offset + instruction.length == padding + site.record.instruction_length();
    }

    // If the guest annotates no instruction with a constant, none is missing.
    static bool is_annotated(const std::vector<Site>& sites, std::uint8_t constant) {
        return std::ranges::any_of(sites, [constant](const Site& site) {
            return static_cast<SiteKind>(site.record.kind) == SiteKind::layout_constant &&
                   site.record.operand == constant;
        });
    }

    [[nodiscard]] AuditReport::Finding finding_at(std::uint64_t address, std::size_t length) const {
        return {places_.at(address), hex_bytes(bytes_at(file_.elf, address, length)), "", "", "", ""};
    }

    void add_unrecorded(const CodeMap::SensitiveInstruction& instruction) {
        AuditReport::Finding finding = finding_at(instruction.address, instruction.length);
        const auto bytes = bytes_at(file_.elf, instruction.address, instruction.length);
        if (const auto decoded = decoder_.decode(bytes, instruction.address)) {
            finding.instruction = decoder_.text(*decoded, instruction.address);
        }
        finding.kind = find_site_kind(static_cast<std::uint8_t>(instruction.form.kind))->name;
        if (instruction.form.kind == SiteKind::layout_constant) {
            finding.constant = find_layout_constant(instruction.form.operand)->name;
        }
        add(report_.unrecorded, std::move(finding));
    }

    void add_doubt(AuditReport::Doubt doubt) {
        if (const ExceptionList::Entry* const exception = exceptions_.find(doubt.place, data_kind)) {
            doubt.reason = exception->reason;
            report_.explained_doubts.push_back(std::move(doubt));
        } else {
            report_.doubtful.push_back(std::move(doubt));
        }
    }

    void add(std::vector<AuditReport::Finding>& findings, AuditReport::Finding finding) {
        const ExceptionList::Entry* const exception = exceptions_.find(finding.place, finding.kind);
        if (exception != nullptr) {
            finding.reason = exception->reason;
            report_.explained.push_back(std::move(finding));
        } else {
            findings.push_back(std::move(finding));
        }
    }

    const KernelFile& file_;
    const ElfImage& symbols_;
    ExceptionList& exceptions_;
    Places places_;
    LlvmTarget target_;
    InstructionDecoder decoder_;
    AuditReport report_;
};

} // namespace

bool have_same_code(const ElfImage& one, const ElfImage& other) {
    return std::ranges::all_of(one.sections(), [&](const Section& section) {
        const Section* const twin = other.section_at(section.address);
        return !section.executable || section.bytes.empty() ||
               (twin != nullptr && twin->address == section.address &&
                std::ranges::equal(twin->bytes, section.bytes));
    });
}

AuditReport audit(const KernelFile& file, ExceptionList& exceptions, const ElfImage* symbols) {
    return Auditor(file, exceptions, symbols).run();
}

} // namespace previrt
