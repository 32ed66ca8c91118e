// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"
#include "monitor/process/bounds/guest_bounds.hpp"
#include "monitor/process/bounds/watch_rules.hpp"

#include <optional>
#include <string>
#include <sys/types.h>

namespace previrt {

// A process of the monitor that watches a guest's processes by /proc, without their memory, and tells the
// monitor when they exceed a bound. While a guest runs, the monitor opens no file; this process opens those
// in /proc for reading. It looks each time a process of the guest has used 10 ms of a processor, and every
// few seconds.
class GuestWatch {
public:
    // The exceeded bound, and the bytes of page tables at that time.
    struct Finding {
        Verdict verdict;
        std::uint64_t page_tables;
    };

    // `keeper`: the parent of the guest's processes; `is_nobody`: their user. Throws InputError if the
    // process cannot be made.
    GuestWatch(pid_t keeper, bool is_nobody, const GuestBounds& bounds);
    ~GuestWatch();
    GuestWatch(const GuestWatch&) = delete;
    GuestWatch& operator=(const GuestWatch&) = delete;

    // The reason why this machine does not show the processes; empty: it does.
    [[nodiscard]] const std::string& lacking() const { return lacking_; }
    // Readable when there is a finding; -1: the watch does not run.
    [[nodiscard]] int descriptor() const { return told_.number(); }
    // nullopt: the watch has ended, which it never does by itself.
    [[nodiscard]] std::optional<Finding> read() const;

private:
    Descriptor told_;
    pid_t process_ = 0;
    std::string lacking_;
};

} // namespace previrt
