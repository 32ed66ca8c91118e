// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/console/line_sieve.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace previrt {

// A console that an in-place VMM shares with its guest: what the VMM says to us (inplace-vmm/package.hpp) is
// taken out, and its notes go to standard error.
class VmmConsole {
public:
    VmmConsole();

    // The guest's part.
    std::string read(std::string_view output);
    std::string release() { return sieve_.release(); }

    // How it ended ("powered off"), if nothing came after that: a guest can print such a line as well.
    [[nodiscard]] const std::optional<std::string>& end() const { return end_; }
    // JSON.
    [[nodiscard]] const std::optional<std::string>& counters() const { return counters_; }

private:
    std::optional<std::string> end_;
    std::optional<std::string> counters_;
    unsigned notes_ = 0;
    LineSieve sieve_;
};

} // namespace previrt
