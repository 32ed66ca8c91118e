// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace previrt {

// The counters that a VMM wrote (`run --stats`). Throws InputError.
nlohmann::json read_counters(const std::string& file);

// What one operation counted that ran `times` more often in the second of two runs. What did not count is
// left out.
nlohmann::json counts_of_one(const nlohmann::json& first, const nlohmann::json& second, double times);

struct EventCounts {
    double system_calls; // that Xen brought to the VMM
    double user_returns; // each one an iret by Xen that is not among the hypercalls
    double hypercalls;
    double page_faults;      // that reached the VMM
    double hidden_faults;    // of these: the shadow's, not the guest's
    double other_exceptions; // that reached the VMM
    double site_calls;       // from a rewritten site into the VMM
    double shadow_entries;   // written
};

// From what counts_of_one() gives.
EventCounts sum_up(const nlohmann::json& counts);

} // namespace previrt
