// SPDX-License-Identifier: BSD-2-Clause
#include "bench/failed_rows.hpp"

#include "host/input_error.hpp"

#include <iostream>

namespace previrt {

void report_failed_rows(const std::map<std::string, int>& failed, const std::string& place, bool is_peer,
                        const std::string& last_lines) {
    for (const auto& [row, status] : failed) {
        const std::string reason = row + " failed with status " + std::to_string(status);
        if (!is_peer) {
            throw InputError(reason + "; the last lines:\n" + last_lines);
        }
        std::cerr << "previrt: " << place << ": " << reason << '\n';
    }
}

} // namespace previrt
