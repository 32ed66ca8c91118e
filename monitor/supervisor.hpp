// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <functional>

namespace previrt {

// Runs it in a process of its own, which has given up all that it does not need when it meets a guest. This
// one only waits: it hands on the signals that a monitor takes, and where the other is killed it says so and
// gives the terminal its mode back. Neither outlives the other. Gives what it gives, which is an exit status.
int run_supervised(const std::function<int()>& run);

} // namespace previrt
