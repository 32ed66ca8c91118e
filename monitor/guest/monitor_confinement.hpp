// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace previrt {

// The needs of a process that only monitors one guest.
struct MonitorNeeds {
    pid_t guest = 0;             // the group of the guest's processes; 0: it has none
    bool guest_is_nobody = true; // the guest's processes have the user nobody. For a guest without processes:
                                 // this process may become nobody
    pid_t network = 0;           // a process that this one may kill; 0: none
    bool connects = false;       // to a socket of this machine by its path, repeatedly
    bool has_disks = false;
    int sessions = -1; // sockets to which clients of this machine connect
    int consoles = -1;
    int counts = -1;
};

// Called before there is a guest. All threads of this process, present and future, keep only the system calls
// of a monitor. This thread and future ones have no privileges, are not root, and can open no file. Returns
// the layers that this machine lacks. Throws InputError if the kernel has no filters.
std::vector<std::string> confine_monitor(const MonitorNeeds& needs);

// Parts of it, for the monitor's other processes. `connects`: the file-system user stays. False: this machine
// refuses.
[[nodiscard]] bool leave_root(bool connects);
// Of the calling thread. Throws InputError.
void drop_capabilities();

} // namespace previrt
