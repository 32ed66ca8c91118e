// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/channel/command_terminal.hpp"

#include "monitor/channel/guest_process.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

namespace previrt {

bool standard_streams_are_terminal() {
    return isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
}

bool has_terminal(const GuestProcess* process) {
    return process != nullptr ? process->has_terminal : standard_streams_are_terminal();
}

std::uint32_t find_terminals(const GuestProcess* process) {
    std::uint32_t terminals = 0;
    if (has_terminal(process)) {
        for (unsigned number = 0; number < 3; ++number) {
            terminals |= isatty(static_cast<int>(number)) != 0 ? 1U << number : 0;
        }
    }
    return terminals;
}

agent::Window read_window() {
    winsize window{};
    ioctl(STDIN_FILENO, TIOCGWINSZ, &window);
    return {.rows = window.ws_row,
            .columns = window.ws_col,
            .width = window.ws_xpixel,
            .height = window.ws_ypixel};
}

} // namespace previrt
