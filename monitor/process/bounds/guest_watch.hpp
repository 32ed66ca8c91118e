// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"
#include "monitor/process/bounds/guest_bounds.hpp"
#include "monitor/process/bounds/watch_rules.hpp"

#include <optional>
#include <string>
#include <sys/types.h>

namespace previrt {

// A process of the monitor's that looks at a guest's processes as this machine shows them, at none of the
// guest's memory, and tells the monitor where they pass a bound. The monitor opens no file any more when a
// guest runs; this one opens those in /proc, to read them. It looks each time that a process of the guest's
// has used 10 ms of a processor, and every some seconds.
class GuestWatch {
public:
    // A bound that was passed, and the bytes of page tables then.
    struct Finding {
        Verdict verdict;
        std::uint64_t page_tables;
    };

    // `keeper`: the parent of the guest's processes, and `is_nobody` their user. Throws InputError where
    // there can be no such process.
    GuestWatch(pid_t keeper, bool is_nobody, const GuestBounds& bounds);
    ~GuestWatch();
    GuestWatch(const GuestWatch&) = delete;
    GuestWatch& operator=(const GuestWatch&) = delete;

    // Why this machine lets nobody look; empty: it lets us.
    [[nodiscard]] const std::string& lacking() const { return lacking_; }
    // Readable where it has found something; -1: it does not look.
    [[nodiscard]] int descriptor() const { return told_.number(); }
    // Nothing: it has ended, which it does not by itself.
    [[nodiscard]] std::optional<Finding> read() const;

private:
    Descriptor told_;
    pid_t process_ = 0;
    std::string lacking_;
};

} // namespace previrt
