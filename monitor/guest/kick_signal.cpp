// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/guest/kick_signal.hpp"

#include <csignal>

namespace previrt {

int calling_signal() {
    return SIGRTMIN;
}

void receive_calling_signals() {
    struct sigaction action{};
    action.sa_handler = [](int /*number*/) {};
    sigemptyset(&action.sa_mask);
    sigaction(calling_signal(), &action, nullptr);
}

} // namespace previrt
