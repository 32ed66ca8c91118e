// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/console/line_sieve.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace previrt {

// A console that an in-place VMM shares with its guest. Takes out the VMM's lines for the monitor
// (inplace-vmm/package.hpp), and prints its notes on standard error.
class VmmConsole {
public:
    VmmConsole();

    // Returns the guest's output.
    std::string read(std::string_view output);
    std::string release() { return sieve_.release(); }

    // The end that the VMM reported ("powered off"), if no output came afterwards: a guest can print such a
    // line too.
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
