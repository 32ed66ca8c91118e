// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace previrt {

struct ProgramTime {
    std::string name;
    std::chrono::nanoseconds took; // by this program's clock
};

// Reads the output of bench/guest/programs.sh, each line with the time since the place was started.
class ProgramTimesReader {
public:
    void read_line(std::string_view line, std::chrono::nanoseconds now);

    // Throws InputError with the place's `last_lines` if one of these did not end, or failed.
    [[nodiscard]] const std::vector<ProgramTime>& require(const std::vector<std::string>& names,
                                                          const std::string& last_lines) const;

private:
    std::string name_;
    std::optional<std::chrono::nanoseconds> began_;
    std::vector<ProgramTime> times_;
    std::map<std::string, int> failed_; // and their status
};

} // namespace previrt
