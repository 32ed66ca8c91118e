// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/profile/profile.hpp"

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>

namespace previrt {

// The sums by cause, and the `most` largest rows.
void print_profile(std::ostream& output, const Profile& profile, std::size_t most);

// All of it. `symbols`: the path of the file of symbols; empty: there was none.
nlohmann::ordered_json profile_to_json(const Profile& profile, const std::string& symbols);

// Lines `CAUSE;FUNCTION;INSTRUCTION VALUE`, as flamegraph.pl and speedscope read them.
std::string folded_stacks(const Profile& profile);

} // namespace previrt
