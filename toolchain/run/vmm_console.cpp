// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/run/vmm_console.hpp"

#include "inplace-vmm/package.hpp"

namespace previrt {

VmmConsole::VmmConsole()
    : sieve_({end_line_prefix, counters_line_prefix}, [this](const std::string& mark, std::string_view text) {
          (mark == end_line_prefix ? end_ : counters_) = std::string(text);
      }) {}

std::string VmmConsole::read(std::string_view output) {
    std::string guest;
    for (const char character : output) {
        const std::string left = sieve_.read({&character, 1});
        if (left.find_first_not_of("\r\n") != std::string::npos) {
            end_.reset();
        }
        guest += left;
    }
    return guest;
}

} // namespace previrt
