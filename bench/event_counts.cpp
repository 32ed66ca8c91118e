// SPDX-License-Identifier: BSD-2-Clause
#include "bench/event_counts.hpp"

#include "host/file.hpp"
#include "host/input_error.hpp"

#include <array>

namespace previrt {

namespace {

// The counters that are read below: a missing one must not read as 0.
constexpr std::array<const char*, 7> groups_and_counters = {
    "system_calls",  "user_returns",          "hypercalls", "exceptions", "site_calls",
    "hidden_faults", "shadow_entries_written"};
constexpr const char* page_fault = "14";

double number(const nlohmann::json& value) {
    return value.is_number() ? value.get<double>() : 0;
}

double sum(const nlohmann::json& value) {
    if (!value.is_object()) {
        return number(value);
    }
    double total = 0;
    for (const nlohmann::json& member : value) {
        total += sum(member);
    }
    return total;
}

nlohmann::json member(const nlohmann::json& value, const std::string& name) {
    return value.is_object() ? value.value(name, nlohmann::json()) : nlohmann::json();
}

} // namespace

nlohmann::json read_counters(const std::string& file) {
    nlohmann::json counters = nlohmann::json::parse(read_text(file), nullptr, false);
    for (const char* const name : groups_and_counters) {
        if (!counters.is_object() || !counters.contains(name)) {
            throw InputError("the VMM's counters have no " + std::string(name));
        }
    }
    return counters;
}

nlohmann::json counts_of_one(const nlohmann::json& first, const nlohmann::json& second, double times) {
    if (!second.is_object()) {
        return (number(second) - number(first)) / times;
    }
    nlohmann::json counts = nlohmann::json::object();
    for (const auto& [name, value] : second.items()) {
        nlohmann::json count = counts_of_one(member(first, name), value, times);
        if (count.is_object() ? !count.empty() : number(count) != 0) {
            counts[name] = std::move(count);
        }
    }
    return counts;
}

EventCounts sum_up(const nlohmann::json& counts) {
    const nlohmann::json exceptions = member(counts, "exceptions");
    const double page_faults = number(member(exceptions, page_fault));
    return {.system_calls = number(member(counts, "system_calls")),
            .user_returns = number(member(counts, "user_returns")),
            .hypercalls = sum(member(counts, "hypercalls")),
            .page_faults = page_faults,
            .hidden_faults = number(member(counts, "hidden_faults")),
            .other_exceptions = sum(exceptions) - page_faults,
            .site_calls = sum(member(counts, "site_calls")),
            .shadow_entries = number(member(counts, "shadow_entries_written"))};
}

} // namespace previrt
