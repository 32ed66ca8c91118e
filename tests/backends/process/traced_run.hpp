// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <sys/types.h>
#include <sys/user.h>
#include <vector>

namespace previrt::process {

// A program and all processes that come of it, each traced from its first instruction on. All end when the
// tracer ends, in whichever way.
class TracedRun {
public:
    static constexpr unsigned most_breakpoints = 4;
    using Breakpoints = std::array<std::uint64_t, most_breakpoints>; // 0: none

    // A process that stopped at a breakpoint, before the instruction there.
    class Stop {
    public:
        Stop(pid_t process, user_regs_struct registers) : process_(process), registers_(registers) {}

        [[nodiscard]] pid_t process() const { return process_; }
        [[nodiscard]] const user_regs_struct& registers() const { return registers_; }
        [[nodiscard]] std::uint64_t address() const { return registers_.rip; }
        [[nodiscard]] std::uint64_t read(std::uint64_t address) const;

    private:
        pid_t process_;
        user_regs_struct registers_;
    };

    class Observer {
    public:
        virtual ~Observer() = default;
        Observer() = default;
        Observer(const Observer&) = delete;
        Observer& operator=(const Observer&) = delete;
        // Those with which a new process begins.
        virtual Breakpoints breakpoints_of_new() = 0;
        // The number of a signal that comes to the process at this instruction, or 0.
        virtual int stopped(const Stop& stop) = 0;
    };

    // Its output goes into this file.
    TracedRun(const std::vector<std::string>& command, const std::string& output);
    ~TracedRun();
    TracedRun(const TracedRun&) = delete;
    TracedRun& operator=(const TracedRun&) = delete;

    static void set_breakpoints(pid_t process, const Breakpoints& breakpoints);

    // Until all processes have ended. Gives the program's status, or throws when the time is over.
    int run(Observer& observer, std::chrono::seconds limit);

private:
    void handle_stop(pid_t process, int status, Observer& observer);

    pid_t program_ = 0;
    std::map<pid_t, bool> processes_; // true: it has breakpoints
};

} // namespace previrt::process
