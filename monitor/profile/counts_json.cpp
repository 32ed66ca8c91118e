// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/profile/counts_json.hpp"

#include "backends/common/contract/doorbells.hpp"
#include "host/input_error.hpp"
#include "toolchain/image/places.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <tuple>

namespace previrt {

namespace {

constexpr const char* kind_member(Cause cause) {
    switch (cause) {
    case Cause::crossing:
        return "call";
    case Cause::exception:
        return "vector";
    default:
        return "kind";
    }
}

nlohmann::json row_to_json(const CountedInstruction& row, bool has_cycles) {
    nlohmann::json json = {{"cause", cause_names[static_cast<std::size_t>(row.cause)]}, {"count", row.count}};
    if (row.in == CountedIn::kernel) {
        json["address"] = hex(row.address);
    } else {
        json["place"] = row.in == CountedIn::programs ? "programs" : "elsewhere";
    }
    if (!row.kind.empty()) {
        json[kind_member(row.cause)] = row.kind;
    }
    if (has_cycles) {
        json["cycles"] = row.cycles;
    }
    return json;
}

struct Hypercall {
    std::uint64_t number;
    const char* name;
};
// Those that the VMM makes while a guest runs: xen/include/public/xen.h.
constexpr std::array hypercalls = {Hypercall{.number = 1, .name = "mmu_update"},
                                   Hypercall{.number = 3, .name = "stack_switch"},
                                   Hypercall{.number = 5, .name = "fpu_taskswitch"},
                                   Hypercall{.number = 8, .name = "set_debugreg"},
                                   Hypercall{.number = 10, .name = "update_descriptor"},
                                   Hypercall{.number = 14, .name = "update_va_mapping"},
                                   Hypercall{.number = 15, .name = "set_timer_op"},
                                   Hypercall{.number = 24, .name = "vcpu_op"},
                                   Hypercall{.number = 25, .name = "set_segment_base"},
                                   Hypercall{.number = 26, .name = "mmuext_op"},
                                   Hypercall{.number = 29, .name = "sched_op"},
                                   Hypercall{.number = 32, .name = "event_channel_op"}};

// Only a VMM prints numbers that no monitor beside it names: under Xen, and where KVM runs level 0 on the
// processor, which has doorbells alone.
std::string name_of_printed_call(std::uint64_t number) {
    using namespace monitored;
    if (number >= doorbell_of_console && number < end_of_doorbells) {
        return doorbell_names.at(number - doorbell_of_console);
    }
    const auto* const found = std::ranges::find(hypercalls, number, &Hypercall::number);
    return found == hypercalls.end() ? "call " + std::to_string(number) : found->name;
}

class Row {
public:
    explicit Row(const nlohmann::json& json) : json_(json) {}

    [[nodiscard]] std::uint64_t number(const char* name) const {
        const auto found = json_.find(name);
        if (found == json_.end() || !found->is_number_unsigned()) {
            throw InputError(std::string("instructions: a row without the number ") + name);
        }
        return found->get<std::uint64_t>();
    }
    [[nodiscard]] bool has(const char* name) const { return json_.contains(name); }
    [[nodiscard]] std::string text(const char* name) const {
        const auto found = json_.find(name);
        return found != json_.end() && found->is_string() ? found->get<std::string>() : "";
    }
    // The VMM prints numbers, and a monitor names.
    [[nodiscard]] std::string kind_of(Cause cause) const {
        const char* const name = kind_member(cause);
        const auto found = json_.find(name);
        if (found == json_.end() || !found->is_number_unsigned()) {
            return text(name);
        }
        const auto number = found->get<std::uint64_t>();
        return cause == Cause::crossing ? name_of_printed_call(number)
                                        : std::string(name) + ' ' + std::to_string(number);
    }

private:
    const nlohmann::json& json_;
};

Cause cause_of(const std::string& name) {
    const auto* const found = std::ranges::find(cause_names, std::string_view(name));
    if (found == std::end(cause_names)) {
        throw InputError("instructions: a row has no cause that this previrt knows");
    }
    return static_cast<Cause>(found - std::begin(cause_names));
}

std::uint64_t address_of(const std::string& text) {
    std::uint64_t address = 0;
    const char* const end = text.data() + text.size();
    if (!text.starts_with("0x") || std::from_chars(text.data() + 2, end, address, 16).ptr != end) {
        throw InputError("instructions: a row has no address");
    }
    return address;
}

CountedInstruction row_of_json(const nlohmann::json& json) {
    if (!json.is_object()) {
        throw InputError("instructions: a row is no object");
    }
    const Row row(json);
    CountedInstruction counted;
    counted.cause = cause_of(row.text("cause"));
    counted.kind = row.kind_of(counted.cause);
    counted.count = row.number("count");
    counted.cycles = row.has("cycles") ? row.number("cycles") : 0;
    if (row.has("place")) {
        counted.in = row.text("place") == "programs" ? CountedIn::programs : CountedIn::elsewhere;
    } else {
        counted.address = address_of(row.text("address"));
    }
    return counted;
}

} // namespace

nlohmann::json counts_to_json(const CountedInstructions& counts) {
    std::vector<const CountedInstruction*> rows;
    rows.reserve(counts.rows.size());
    for (const CountedInstruction& row : counts.rows) {
        rows.push_back(&row);
    }
    std::ranges::sort(rows, {}, [](const CountedInstruction* row) {
        return std::tuple(row->in == CountedIn::kernel, ~row->count, row->address);
    });
    nlohmann::json list = nlohmann::json::array();
    for (const CountedInstruction* const row : rows) {
        list.push_back(row_to_json(*row, counts.have_cycles));
    }
    return {{"instructions", list},
            {"instructions_left_out", {{"rows", counts.rows_left_out}, {"count", counts.counts_left_out}}}};
}

CountedInstructions counts_of_json(const nlohmann::json& file) {
    const auto list = file.find("instructions");
    if (list == file.end() || !list->is_array()) {
        throw InputError("the VMM has counted no instructions");
    }
    CountedInstructions counts;
    for (const nlohmann::json& json : *list) {
        counts.rows.push_back(row_of_json(json));
        counts.have_cycles = counts.have_cycles || counts.rows.back().cycles != 0;
    }
    if (const auto left_out = file.find("instructions_left_out");
        left_out != file.end() && left_out->is_object()) {
        const Row row(*left_out);
        counts.rows_left_out = row.number("rows");
        counts.counts_left_out = row.number("count");
    }
    return counts;
}

} // namespace previrt
