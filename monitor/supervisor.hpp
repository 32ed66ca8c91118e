// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <functional>
#include <span>

namespace previrt {

struct Supervision {
    std::span<const int> signals; // that the other process gets
    int failed;                   // the exit status if it is killed
};
// Of a guest with its console.
extern const Supervision console_supervision;

// Runs `run` in a process of its own, which gives up all rights that it does not need before it runs a guest.
// The calling process only waits: it passes on the signals for the monitor, and stops if SIGTSTP is one of
// them. If the other process is killed, it says so and restores the terminal's mode. Neither outlives the
// other, and when this returns, or a signal ends the calling process, none of the processes that `run` has
// made is left, unless that signal is SIGKILL: it waits half a minute for them. Returns the exit status of
// `run`.
int run_supervised(const std::function<int()>& run, const Supervision& supervision = console_supervision);

} // namespace previrt
