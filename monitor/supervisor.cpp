// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/supervisor.hpp"

#include "host/input_error.hpp"

#include <array>
#include <cerrno>
#include <chrono>
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

constexpr std::array signals_of_console = {SIGINT, SIGTERM, SIGHUP, SIGUSR1,
                                           SIGUSR2}; // the last two: cable_signals.hpp

sigset_t signals_to_hand_on(const Supervision& supervision) {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int number : supervision.signals) {
        sigaddset(&signals, number);
    }
    return signals;
}

std::optional<termios> terminal_mode() {
    termios mode{};
    return isatty(STDIN_FILENO) != 0 && tcgetattr(STDIN_FILENO, &mode) == 0 ? std::optional(mode)
                                                                            : std::nullopt;
}

// The terminal is the shell's meanwhile.
void stop_with_terminal(const std::optional<termios>& terminal) {
    const std::optional<termios> raw = terminal_mode();
    if (terminal) {
        tcsetattr(STDIN_FILENO, TCSADRAIN, &*terminal);
    }
    raise(SIGSTOP);
    if (terminal && raw) {
        tcsetattr(STDIN_FILENO, TCSADRAIN, &*raw);
    }
}

// Waits for the other process's end. A terminal sends its signals to both processes.
siginfo_t await(pid_t process, const Supervision& supervision, const std::optional<termios>& terminal) {
    sigset_t awaited = signals_to_hand_on(supervision);
    sigaddset(&awaited, SIGCHLD);
    siginfo_t ended{};
    while (waitid(P_PID, static_cast<id_t>(process), &ended, WEXITED | WNOHANG) == 0 && ended.si_pid == 0) {
        siginfo_t signal{};
        const int number = sigwaitinfo(&awaited, &signal);
        if (number > 0 && number != SIGCHLD && signal.si_code != SI_KERNEL) {
            kill(process, number);
        }
        if (number == SIGTSTP) {
            stop_with_terminal(terminal);
        }
    }
    return ended;
}

// Those of a program that this one has replaced by exec.
bool has_children() {
    return waitid(P_ALL, 0, nullptr, WEXITED | WNOHANG | WNOWAIT) == 0;
}

// The guest's processes end with the monitor. If a signal has ended that one, this process is now their
// parent. A server of an image or a folder may be at work, or somebody may have stopped it.
void await_orphans() {
    constexpr std::chrono::seconds patience(30);
    constexpr timespec look_again{.tv_sec = 1, .tv_nsec = 0};
    sigset_t child_ended;
    sigemptyset(&child_ended);
    sigaddset(&child_ended, SIGCHLD);
    const auto limit = std::chrono::steady_clock::now() + patience;
    siginfo_t ended{};
    while (std::chrono::steady_clock::now() < limit &&
           waitid(P_ALL, 0, &ended, WEXITED | WNOHANG) == 0) { // else there is none
        if (ended.si_pid == 0) {
            sigtimedwait(&child_ended, nullptr, &look_again);
        }
        ended = {};
    }
}

int judge(const siginfo_t& ended, const std::optional<termios>& terminal, const Supervision& supervision) {
    if (ended.si_code == CLD_EXITED) {
        return ended.si_status;
    }
    if (terminal) {
        tcsetattr(STDIN_FILENO, TCSADRAIN, &*terminal);
    }
    const int number = ended.si_status;
    if (const sigset_t ending = signals_to_hand_on(supervision); sigismember(&ending, number) == 1) {
        std::signal(number, SIG_DFL); // as without the other process
        pthread_sigmask(SIG_UNBLOCK, &ending, nullptr);
        raise(number);
    }
    std::cerr << "previrt: the host ended the guest's monitor, and the guest with it: signal "
              << strsignal(number) // NOLINT(concurrency-mt-unsafe): there is one thread
              << (number == SIGSYS ? ": it made a system call that its filter refuses" : "") << '\n';
    return supervision.failed;
}

int run_beside(const std::function<int()>& run, const Supervision& supervision, bool waits_for_orphans) {
    const std::optional<termios> terminal = terminal_mode();
    std::cout.flush();
    std::signal(SIGCHLD, SIG_DFL);
    sigset_t held = signals_to_hand_on(supervision);
    sigaddset(&held, SIGCHLD);
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &held, &before);
    const pid_t supervisor = getpid();
    if (waits_for_orphans) {
        prctl(PR_SET_CHILD_SUBREAPER, 1);
    }
    const pid_t process = fork();
    if (process < 0) {
        throw InputError("fork: " + std::generic_category().message(errno));
    }
    if (process != 0) {
        // Of two that wait one behind the other, only the last one changes the terminal when both stop.
        const siginfo_t ended =
            await(process, supervision, waits_for_orphans ? terminal : std::optional<termios>());
        if (waits_for_orphans) {
            await_orphans();
        }
        return judge(ended, terminal, supervision);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != supervisor) {
        _exit(supervision.failed); // the parent ended before the setting took effect
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    const int status = run();
    std::cout.flush();
    std::cerr.flush();
    _exit(status); // must not run the exit handlers of the C and C++ libraries
}

} // namespace

const Supervision console_supervision{.signals = signals_of_console, .failed = 1};

int run_supervised(const std::function<int()>& run, const Supervision& supervision) {
    const auto run_and_wait = [&] { return run_beside(run, supervision, true); };
    // Other children, and theirs, would be waited for too.
    return has_children() ? run_beside(run_and_wait, supervision, false) : run_and_wait();
}

} // namespace previrt
