// SPDX-License-Identifier: BSD-2-Clause
#include "host/ending_signals.hpp"

#include <csignal>
#include <sys/signalfd.h>

namespace previrt {

Descriptor hold_ending_signals() {
    sigset_t held;
    sigemptyset(&held);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        sigaddset(&held, number);
    }
    pthread_sigmask(SIG_BLOCK, &held, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
    return Descriptor(signalfd(-1, &held, SFD_CLOEXEC));
}

} // namespace previrt
