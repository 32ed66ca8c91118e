// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace previrt {

// Of a process that is the monitor of one guest, and nothing else.
struct MonitorNeeds {
    pid_t guest = 0;             // a group of processes; 0: it is none
    bool guest_is_nobody = true; // by its user; of a guest that is no processes, what we may become
    pid_t network = 0;           // a process that is ours to end; 0: none
    bool connects = false;       // to a socket of this machine by its path, again and again
};

// Before there is a guest: all threads of this process, and those to come, get from the kernel only what a
// monitor needs until its end; this thread, and those to come, have no privileges, no user's rights where
// that was root, and no file that is not open. Gives the layers that this machine does not. Throws InputError
// where the kernel has no filters.
std::vector<std::string> confine_monitor(const MonitorNeeds& needs);

// Parts of it, for other processes of the monitor's. `connects`: the user for files stays. False: this
// machine refuses it.
[[nodiscard]] bool leave_root(bool connects);
// Of the calling thread. Throws InputError.
void drop_capabilities();

} // namespace previrt
