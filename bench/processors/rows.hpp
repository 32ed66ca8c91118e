// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace previrt {

// Reads the output of bench/guest/processors.sh.
class ProcessorRowsReader {
public:
    void read_line(std::string_view line);

    // Throws InputError with the place's `last_lines` if it has another number of processors, or if the rows
    // did not come to an end. One that failed is among failed().
    void require(const std::vector<std::string>& rows, unsigned processors,
                 const std::string& last_lines) const;
    [[nodiscard]] const std::map<std::string, double>& done() const { return done_; }  // in nanoseconds
    [[nodiscard]] const std::map<std::string, int>& failed() const { return failed_; } // and their status

private:
    unsigned processors_ = 0;
    std::map<std::string, double> done_;
    std::map<std::string, int> failed_;
};

} // namespace previrt
