// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/profile/counted_instruction.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace previrt {

// Members of the file of --stats: `instructions`, and `instructions_left_out`. The VMM prints them the same
// way (inplace-vmm/instruction_counts.cpp).
nlohmann::json counts_to_json(const CountedInstructions& counts);

// Of such a file. Throws InputError if it has none, or another form.
CountedInstructions counts_of_json(const nlohmann::json& file);

} // namespace previrt
