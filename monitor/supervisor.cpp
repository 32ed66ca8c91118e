// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/supervisor.hpp"

#include "host/input_error.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>
#include <optional>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <termios.h>
#include <unistd.h>

namespace previrt {

namespace {

constexpr int guest_failed = 1;

sigset_t signals_to_hand_on() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) { // the last two: cable_signals.hpp
        sigaddset(&signals, number);
    }
    return signals;
}

std::optional<termios> terminal_mode() {
    termios mode{};
    return isatty(STDIN_FILENO) != 0 && tcgetattr(STDIN_FILENO, &mode) == 0 ? std::optional(mode)
                                                                            : std::nullopt;
}

// Waits for the other process's end.
siginfo_t await(pid_t process) {
    sigset_t awaited = signals_to_hand_on();
    sigaddset(&awaited, SIGCHLD);
    siginfo_t ended{};
    while (waitid(P_PID, static_cast<id_t>(process), &ended, WEXITED | WNOHANG) == 0 && ended.si_pid == 0) {
        const int number = sigwaitinfo(&awaited, nullptr);
        if (number > 0 && number != SIGCHLD) {
            kill(process, number);
        }
    }
    return ended;
}

int judge(const siginfo_t& ended, const std::optional<termios>& terminal) {
    if (ended.si_code == CLD_EXITED) {
        return ended.si_status;
    }
    if (terminal) {
        tcsetattr(STDIN_FILENO, TCSADRAIN, &*terminal);
    }
    const int number = ended.si_status;
    if (const sigset_t ending = signals_to_hand_on(); sigismember(&ending, number) == 1) {
        std::signal(number, SIG_DFL); // as without the other process
        pthread_sigmask(SIG_UNBLOCK, &ending, nullptr);
        raise(number);
    }
    std::cerr << "previrt: the host ended the guest's monitor, and the guest with it: signal "
              << strsignal(number) // NOLINT(concurrency-mt-unsafe): there is one thread
              << (number == SIGSYS ? ": it made a system call that its filter refuses" : "") << '\n';
    return guest_failed;
}

} // namespace

int run_supervised(const std::function<int()>& run) {
    const std::optional<termios> terminal = terminal_mode();
    std::cout.flush();
    std::signal(SIGCHLD, SIG_DFL);
    sigset_t held = signals_to_hand_on();
    sigaddset(&held, SIGCHLD);
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &held, &before);
    const pid_t supervisor = getpid();
    const pid_t process = fork();
    if (process < 0) {
        throw InputError("fork: " + std::generic_category().message(errno));
    }
    if (process != 0) {
        return judge(await(process), terminal);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != supervisor) {
        _exit(guest_failed); // the parent ended before the setting took effect
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    const int status = run();
    std::cout.flush();
    std::cerr.flush();
    _exit(status); // must not run the exit handlers of the C and C++ libraries
}

} // namespace previrt
