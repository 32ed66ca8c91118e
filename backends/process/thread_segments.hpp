// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

// Descriptors 12 to 14 of the global table, which a thread of Linux has for itself (set_thread_area). The
// host has the same three for each of its threads, and the current process has the guest's. The rest of the
// global table is the host's: its user mode has the same segments as the guest's.
namespace previrt::process {

struct ThreadSegments {
    static constexpr unsigned first = 12;
    static constexpr unsigned count = 3;
    std::uint64_t descriptors[count];

    bool operator==(const ThreadSegments&) const = default;
};

// The current process has just become so.
void follow_thread_segments();
// The same for the user process beside it, which is stopped.
void follow_user_thread_segments();
// Whether the selector names one of them.
bool is_thread_selector(std::uint16_t selector);
// Whether the current process can load it into a data segment register.
bool has_thread_segment(std::uint16_t selector);

// What the front-end asks of the back-end for the global table. All entries from the count on are the host's.
bool write_global_descriptor(unsigned index, std::uint64_t descriptor);
unsigned global_descriptor_count();

} // namespace previrt::process
