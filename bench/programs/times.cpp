// SPDX-License-Identifier: BSD-2-Clause
#include "bench/programs/times.hpp"

#include "host/input_error.hpp"

#include <algorithm>
#include <sstream>

namespace previrt {

void ProgramTimesReader::read_line(std::string_view line, std::chrono::nanoseconds now) {
    std::istringstream words{std::string(line)};
    std::string word;
    std::string what;
    std::string name;
    if (!(words >> word >> what >> name) || word != "program") {
        return;
    }
    int status = 0;
    if (what == "begins") {
        name_ = name;
        began_ = now;
    } else if (what == "ended" && began_ && name == name_ && words >> status) {
        if (status == 0) {
            times_.push_back({.name = name, .took = now - *began_});
        } else {
            failed_[name] = status;
        }
        began_.reset();
    }
}

const std::vector<ProgramTime>& ProgramTimesReader::require(const std::vector<std::string>& names,
                                                            const std::string& last_lines) const {
    for (const std::string& name : names) {
        if (const auto failed = failed_.find(name); failed != failed_.end()) {
            throw InputError(name + " failed with status " + std::to_string(failed->second) +
                             "; the last lines:\n" + last_lines);
        }
        if (std::ranges::find(times_, name, &ProgramTime::name) == times_.end()) {
            throw InputError(name + " did not come to an end; the last lines:\n" + last_lines);
        }
    }
    return times_;
}

} // namespace previrt
