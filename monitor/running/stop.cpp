// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/running/stop.hpp"

#include "host/input_error.hpp"
#include "monitor/options.hpp"
#include "monitor/running/registry.hpp"
#include "monitor/running/session.hpp"

#include <algorithm>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdint>
#include <fcntl.h>
#include <iostream>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace previrt {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto shortest_wait = std::chrono::milliseconds(50);

// A process by a handle: its number could become another one's.
class Process {
public:
    explicit Process(pid_t number) : handle_(static_cast<int>(syscall(SYS_pidfd_open, number, 0))) {}

    void signal(int number) const { syscall(SYS_pidfd_send_signal, handle_.number(), number, nullptr, 0); }
    // If it has no handle, it has ended already.
    [[nodiscard]] bool has_ended_by(Clock::time_point limit) const {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(limit - Clock::now()).count();
        pollfd waiting{.fd = handle_.number(), .events = POLLIN, .revents = 0};
        return handle_.number() < 0 ||
               poll(&waiting, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, INT_MAX))) > 0;
    }

private:
    Descriptor handle_;
};

Process process_of(const RunningGuest& guest) {
    if (guest.process <= 0) {
        throw InputError(guest.name + ": another program has written its entry, which names no process");
    }
    Process process(guest.process);
    // If the entry is the same one still, so was the process when the handle was opened.
    if (running_guest(guest.name).process != guest.process) {
        throw InputError(guest.name + ": another guest has this name now");
    }
    return process;
}

// A process of its own waits for the guest's program, because the guest may never answer.
pid_t begin_power_off(const std::string& name) {
    const pid_t child = fork();
    if (child != 0) {
        return child;
    }
    const Descriptor nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
    try {
        _exit(run_in_guest({.name = name,
                            .command = {"poweroff"},
                            .environment = {},
                            .input = nothing.number(),
                            .output = nothing.number(),
                            .errors = nothing.number()}));
    } catch (const InputError& error) {
        std::cerr << "previrt: " << error.what() << '\n';
    }
    _exit(command_failed);
}

// False: the guest cannot do it.
bool power_off(const RunningGuest& guest, const Process& run, Clock::time_point limit) {
    const pid_t child = begin_power_off(guest.name);
    const Process asking(child);
    while (!asking.has_ended_by(Clock::now() + shortest_wait)) {
        if (run.has_ended_by(Clock::now()) || Clock::now() >= limit) {
            kill(child, SIGKILL);
        }
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) || WEXITSTATUS(status) == 0;
}

} // namespace

int stop_guest(const std::string& name, double seconds) {
    const RunningGuest guest = running_guest(name);
    const Process run = process_of(guest);
    const auto limit =
        Clock::now() + std::chrono::ceil<Clock::duration>(std::chrono::duration<double>(seconds));
    const bool has_own_init = guest.takes_commands && guest.command.empty();
    if (!has_own_init || !power_off(guest, run, limit)) {
        run.signal(SIGTERM);
    }
    if (run.has_ended_by(limit)) {
        return 0;
    }
    std::cerr << "previrt: " << name << ": it did not end within " << seconds << " s, and was killed\n";
    run.signal(SIGKILL);
    await_end(name);
    return 1;
}

} // namespace previrt
