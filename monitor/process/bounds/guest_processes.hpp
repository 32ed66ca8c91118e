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

// A guest's host processes, by /proc: the children of their keeper. Their number is bounded, whatever they
// do.
class GuestProcesses {
public:
    // `signal` comes each time one of them has used `each` of processor time. Throws InputError if this
    // machine does not show the processes. `directory`: /proc.
    GuestProcesses(Descriptor directory, pid_t keeper, int signal, std::chrono::nanoseconds each);
    ~GuestProcesses();
    GuestProcesses(const GuestProcesses&) = delete;
    GuestProcesses& operator=(const GuestProcesses&) = delete;

    // Reads the data of the processes that have run since the last look.
    Look look();
    // Moves all of them, and those that they make, to one processor for good.
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
    int processor_ = -1; // the one processor
};

// From the text of /proc/PID/status, in bytes. Throws InputError if the text lacks it.
std::uint64_t page_tables_in(std::string_view status);

} // namespace previrt
