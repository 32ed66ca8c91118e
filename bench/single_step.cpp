// SPDX-License-Identifier: BSD-2-Clause
#include "bench/single_step.hpp"

#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <string>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace previrt {

namespace {

[[noreturn]] void fail(const std::string& action) {
    throw std::system_error(errno, std::generic_category(), "single step: " + action);
}

[[noreturn]] void run_traced(Block block) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0 && raise(SIGSTOP) == 0) {
        block(1);
    }
    _exit(0);
}

class TracedChild {
public:
    explicit TracedChild(Block block) : child(fork()) {
        if (child == 0) {
            run_traced(block);
        }
        if (child < 0) {
            fail("fork");
        }
        wait_for_stop();
    }
    ~TracedChild() {
        if (stopped) {
            kill(child, SIGKILL);
            waitpid(child, nullptr, 0);
        }
    }
    TracedChild(const TracedChild&) = delete;
    TracedChild(TracedChild&&) = delete;
    TracedChild& operator=(const TracedChild&) = delete;
    TracedChild& operator=(TracedChild&&) = delete;

    // The signal that stopped the child: SIGTRAP after an instruction, another in place of one.
    int step() {
        if (ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0) {
            fail("PTRACE_SINGLESTEP");
        }
        return wait_for_stop();
    }

    [[nodiscard]] std::uintptr_t instruction_pointer() const {
        user_regs_struct registers{};
        if (ptrace(PTRACE_GETREGS, child, nullptr, &registers) != 0) {
            fail("PTRACE_GETREGS");
        }
        return registers.rip;
    }

private:
    int wait_for_stop() {
        int status = 0;
        if (waitpid(child, &status, 0) < 0) {
            fail("waitpid");
        }
        stopped = WIFSTOPPED(status);
        if (!stopped) {
            throw std::runtime_error("single step: the child ended; is ptrace permitted?");
        }
        return WSTOPSIG(status);
    }

    pid_t child;
    bool stopped = false; // otherwise the child has gone, and its number may be another's
};

} // namespace

Steps single_step(Block block) {
    const CodeRange code = block(0);
    TracedChild child(block);
    while (child.instruction_pointer() != code.begin) {
        child.step();
    }
    Steps steps{};
    // Not until code.end: a single step executes an instruction that the kernel emulates together with the
    // next one.
    for (std::uintptr_t at = code.begin; at >= code.begin && at < code.end;
         at = child.instruction_pointer()) {
        if (const int signal = child.step(); signal != SIGTRAP) {
            steps.fault = signal;
            break;
        }
        ++steps.count;
    }
    return steps;
}

} // namespace previrt
