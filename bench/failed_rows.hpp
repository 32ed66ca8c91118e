// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <map>
#include <string>

namespace previrt {

// Rows with the statuses by which they failed in a place. A peer may fail: a message says so. Throws
// InputError if one of previrt's own places did.
void report_failed_rows(const std::map<std::string, int>& failed, const std::string& place, bool is_peer,
                        const std::string& last_lines);

} // namespace previrt
