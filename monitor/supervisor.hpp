// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <functional>

namespace previrt {

// Runs `run` in a process of its own, which gives up all rights that it does not need before it runs a guest.
// The calling process only waits: it passes on the signals for the monitor. If the other process is killed,
// it says so and restores the terminal's mode. Neither outlives the other. Returns the exit status of `run`.
int run_supervised(const std::function<int()>& run);

} // namespace previrt
