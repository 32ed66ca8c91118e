// SPDX-License-Identifier: BSD-2-Clause
#include "bench/processors/rows.hpp"

#include "host/input_error.hpp"

#include <sstream>

namespace previrt {

void ProcessorRowsReader::read_line(std::string_view line) {
    std::istringstream words{std::string(line)};
    std::string word;
    std::string what;
    std::string row;
    double nanoseconds = 0;
    int status = 0;
    if (!(words >> word >> what) || word != "processors") {
        return;
    }
    if (what == "count") {
        words >> processors_;
    } else if (what == "row" && words >> row >> nanoseconds && nanoseconds > 0) {
        done_[row] = nanoseconds;
    } else if (what == "failed" && words >> row >> status) {
        failed_[row] = status;
    }
}

void ProcessorRowsReader::require(const std::vector<std::string>& rows, unsigned processors,
                                  const std::string& last_lines) const {
    const std::string behind = "; the last lines:\n" + last_lines;
    if (processors_ != processors) {
        throw InputError("it has " + std::to_string(processors_) + " processors in the place of " +
                         std::to_string(processors) + behind);
    }
    for (const std::string& row : rows) {
        if (!done_.contains(row) && !failed_.contains(row)) {
            throw InputError(row + " did not come to an end" + behind);
        }
    }
}

} // namespace previrt
