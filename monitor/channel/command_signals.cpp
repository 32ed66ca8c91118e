// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/channel/command_signals.hpp"

#include <sys/signalfd.h>

namespace previrt {

Descriptor hold_command_signals() {
    sigset_t held;
    sigemptyset(&held);
    for (const int number : command_signals) {
        sigaddset(&held, number);
    }
    pthread_sigmask(SIG_BLOCK, &held, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
    return Descriptor(signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK));
}

} // namespace previrt
