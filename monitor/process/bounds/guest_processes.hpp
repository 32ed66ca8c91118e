// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"
#include "monitor/process/bounds/watch_rules.hpp"

#include <chrono>
#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace previrt {

// A guest's host processes, as this machine shows them: the children of their keeper. Whatever they do, there
// are no more than their bound.
class GuestProcesses {
public:
    // `signal` comes each time that one of them has used so much processor time. Throws InputError where this
    // machine does not show them. `directory`: /proc.
    GuestProcesses(Descriptor directory, pid_t keeper, int signal, std::chrono::nanoseconds each);
    ~GuestProcesses();
    GuestProcesses(const GuestProcesses&) = delete;
    GuestProcesses& operator=(const GuestProcesses&) = delete;

    // Reads of those that have run since the last look.
    Look look();
    // All of them run on one processor from now on, and so do those that they make.
    void keep_on_one_processor();
    // No signal will come for some of them.
    [[nodiscard]] bool lacks_timers() const { return lacks_timers_; }

private:
    struct Process {
        pid_t number = 0;
        Descriptor status;
        timer_t timer = nullptr;
        bool has_timer = false;
        bool is_pinned = false;
        std::chrono::nanoseconds processor_time{-1};
        std::uint64_t page_tables = 0;
    };

    void find_new();
    void add(pid_t number);
    void pin();
    [[nodiscard]] Descriptor open_file(const std::string& name) const;

    pid_t keeper_;
    int signal_;
    std::chrono::nanoseconds each_;
    Descriptor directory_;
    Descriptor children_;
    std::vector<Process> processes_;
    bool lacks_timers_ = false;
    int processor_ = -1; // that they are kept on
};

// Of the text of /proc/PID/status, in bytes. Throws InputError where it does not tell.
std::uint64_t page_tables_in(std::string_view status);

} // namespace previrt
