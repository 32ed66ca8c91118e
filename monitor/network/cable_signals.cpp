// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/network/cable_signals.hpp"

#include <csignal>
#include <sys/signalfd.h>
#include <unistd.h>

namespace previrt {

Descriptor hold_cable_signals() {
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGUSR1);
    sigaddset(&held, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &held, nullptr);
    return Descriptor(signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK));
}

std::optional<bool> read_cable_signals(const Descriptor& signals) {
    std::optional<bool> plugged;
    signalfd_siginfo signal{};
    while (read(signals.number(), &signal, sizeof(signal)) == sizeof(signal)) {
        plugged = signal.ssi_signo == SIGUSR2;
    }
    return plugged;
}

} // namespace previrt
