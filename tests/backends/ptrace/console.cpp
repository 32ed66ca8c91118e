// SPDX-License-Identifier: BSD-2-Clause
// The console is this program's standard output. There is no input.
#include "inplace-vmm/backend/console.hpp"

#include <cstdio>
#include <cstdlib>

namespace previrt::backend {

void write_console(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
        std::_Exit(EXIT_FAILURE);
    }
}

std::optional<std::uint8_t> read_console() {
    return std::nullopt;
}

// The child ends with this program.
void power_off() {
    std::_Exit(EXIT_SUCCESS);
}

void reboot() {
    std::_Exit(EXIT_SUCCESS);
}

void crash() {
    std::_Exit(EXIT_FAILURE);
}

} // namespace previrt::backend
