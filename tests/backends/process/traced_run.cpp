// SPDX-License-Identifier: BSD-2-Clause
#include "tests/backends/process/traced_run.hpp"

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <fcntl.h>
#include <stdexcept>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace previrt::process {

namespace {

constexpr unsigned event_shift = 16;
constexpr unsigned debug_control = 7;
constexpr unsigned bits_of_breakpoint = 2; // in DR7: local, global

[[noreturn]] void fail(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
}

// A process may be killed at any time: then nothing can be said to it.
void trace(int request, pid_t process, std::uint64_t address, std::uint64_t data, const char* what) {
    if (ptrace(static_cast<__ptrace_request>(request), process, address, data) != 0 && errno != ESRCH) {
        fail(what);
    }
}

std::uint64_t debug_register(unsigned number) {
    return offsetof(user, u_debugreg) + (number * sizeof(std::uint64_t));
}

void over(int /*signal*/) {}

pid_t start(const std::vector<std::string>& command, const std::string& output, int begin) {
    const pid_t process = fork();
    if (process != 0) {
        return process;
    }
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    constexpr int mode = 0600;
    const int file = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    dup2(nothing, STDIN_FILENO);
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    char byte = 0;
    if (read(begin, &byte, 1) != 1) {
        _exit(1);
    }
    std::vector<char*> arguments;
    arguments.reserve(command.size() + 1);
    for (const std::string& argument : command) {
        arguments.push_back(const_cast<char*>(argument.c_str()));
    }
    arguments.push_back(nullptr);
    execv(arguments[0], arguments.data());
    _exit(1);
}

} // namespace

std::uint64_t TracedRun::Stop::read(std::uint64_t address) const {
    errno = 0;
    const long value = ptrace(PTRACE_PEEKDATA, process_, address, nullptr);
    if (errno != 0) {
        fail("memory of the user process");
    }
    return static_cast<std::uint64_t>(value);
}

TracedRun::TracedRun(const std::vector<std::string>& command, const std::string& output) {
    std::array<int, 2> begin{};
    if (pipe2(begin.data(), O_CLOEXEC) != 0) {
        fail("pipe");
    }
    program_ = start(command, output, begin[0]);
    constexpr unsigned options =
        PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
    if (program_ < 0 || ptrace(PTRACE_SEIZE, program_, nullptr, options) != 0) {
        fail("PTRACE_SEIZE");
    }
    processes_[program_] = true; // it executes another program first
    if (write(begin[1], "", 1) != 1) {
        fail("the program does not begin");
    }
    close(begin[0]);
    close(begin[1]);
}

TracedRun::~TracedRun() {
    for (const auto& [process, ignored] : processes_) {
        kill(process, SIGKILL);
    }
}

void TracedRun::set_breakpoints(pid_t process, const Breakpoints& breakpoints) {
    std::uint64_t control = 0;
    trace(PTRACE_POKEUSER, process, debug_register(debug_control), 0, "a debug register");
    for (unsigned i = 0; i < most_breakpoints; ++i) {
        if (breakpoints[i] != 0) {
            trace(PTRACE_POKEUSER, process, debug_register(i), breakpoints[i], "a debug register");
            control |= 1U << (i * bits_of_breakpoint);
        }
    }
    trace(PTRACE_POKEUSER, process, debug_register(debug_control), control, "a debug register");
}

void TracedRun::handle_stop(pid_t process, int status, Observer& observer) {
    const int signal = WSTOPSIG(status);
    const int event = status >> event_shift;
    bool& is_ready = processes_[process];
    if (!is_ready) {
        set_breakpoints(process, observer.breakpoints_of_new());
        is_ready = true;
    }
    if (event == PTRACE_EVENT_STOP && signal != SIGTRAP) { // it and its group are to stop
        trace(PTRACE_LISTEN, process, 0, 0, "PTRACE_LISTEN");
        return;
    }
    int sent = event != 0 ? 0 : signal;
    if (event == 0 && signal == SIGTRAP) {
        siginfo_t information{};
        user_regs_struct registers{};
        if (ptrace(PTRACE_GETSIGINFO, process, nullptr, &information) == 0 &&
            information.si_code == TRAP_HWBKPT && ptrace(PTRACE_GETREGS, process, nullptr, &registers) == 0) {
            sent = observer.stopped(Stop(process, registers));
        }
    }
    trace(PTRACE_CONT, process, 0, static_cast<std::uint64_t>(sent), "PTRACE_CONT");
}

int TracedRun::run(Observer& observer, std::chrono::seconds limit) {
    struct sigaction action{};
    action.sa_handler = over; // it ends waitpid
    sigaction(SIGALRM, &action, nullptr);
    alarm(static_cast<unsigned>(limit.count()));
    int result = -1;
    for (;;) {
        int status = 0;
        const pid_t process = waitpid(-1, &status, __WALL);
        if (process < 0 && errno == EINTR) {
            throw std::runtime_error("the guest did not end within " + std::to_string(limit.count()) +
                                     " seconds");
        }
        if (process < 0) { // there is none any more
            break;
        }
        if (WIFSTOPPED(status)) {
            handle_stop(process, status, observer);
            continue;
        }
        processes_.erase(process);
        if (process == program_) {
            result = status;
        }
    }
    alarm(0);
    return result;
}

} // namespace previrt::process
