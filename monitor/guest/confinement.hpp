// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

namespace previrt {

// From here on the calling thread, and no other, gets from the kernel only what the loop that it is about to
// enter needs, and no privileges: whatever a guest makes of it. Anything else ends the process. Each throws
// InputError where the kernel has no such filters.

// Runs the processor behind this descriptor.
void confine_processor_thread(int processor);
// Waits for a guest's first process, gives leave to make others, and ends this group of them.
void confine_waiting_thread(pid_t group);
// Reads and writes what is open.
void confine_privileged_processor_thread(int processor);
// Of console or packets. Calls the guest, a group of processes by the signal for that; 0: it is none.
void confine_relay_thread(pid_t group = 0);

} // namespace previrt
