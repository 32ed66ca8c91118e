// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/channel/command_signals.hpp"

#include "monitor/guest/kick_signal.hpp"

#include <sys/signalfd.h>
#include <vector>

namespace previrt {

std::span<const int> container_signals() {
    static const std::vector<int> signals = [] {
        std::vector<int> all(command_signals.begin(), command_signals.end());
        all.insert(all.end(), {SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPWR, SIGURG, SIGTTIN, SIGTTOU});
        for (int number = calling_signal() + 1; number <= SIGRTMAX; ++number) {
            all.push_back(number);
        }
        return all;
    }();
    return signals;
}

Descriptor hold_signals(std::span<const int> signals) {
    sigset_t held;
    sigemptyset(&held);
    for (const int number : signals) {
        sigaddset(&held, number);
    }
    pthread_sigmask(SIG_BLOCK, &held, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
    return Descriptor(signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK));
}

} // namespace previrt
