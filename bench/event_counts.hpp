// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace previrt {

// The counters that a VMM wrote (`run --stats`). Throws InputError.
nlohmann::json read_counters(const std::string& file);

// The counts of one operation. The operation ran `times` more often in the second of two runs. Counters of 0
// are left out.
nlohmann::json counts_of_one(const nlohmann::json& first, const nlohmann::json& second, double times);

struct EventCounts {
    double system_calls; // that Xen delivered to the VMM
    double user_returns; // each is an iret by Xen that is not among the hypercalls
    double hypercalls;
    double page_faults;      // that the VMM took
    double hidden_faults;    // of these: caused by the shadow, not by the guest
    double other_exceptions; // that the VMM took
    double site_calls;       // entries of rewritten sites into the VMM
    double shadow_entries;   // written
};

// From the result of counts_of_one().
EventCounts sum_up(const nlohmann::json& counts);

} // namespace previrt
