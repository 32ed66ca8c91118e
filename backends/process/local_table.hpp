// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

// The guest's local descriptor table. The host has one for each process; the current process has the guest's.
namespace previrt::process {

// What a process's table holds, in short.
struct LocalTableMark {
    std::uint64_t digest; // of all entries; 0: there are none
    unsigned entries;     // one more than the last entry that may be set
};

void start_local_table();
// The current process has just become so, or the guest's table has changed.
void follow_local_table();
// The same for the user process beside the current one, which is stopped.
void follow_user_local_table();
// Whether the current process can load it into a data segment register.
bool has_local_segment(std::uint16_t selector);

} // namespace previrt::process
