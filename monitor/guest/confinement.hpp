// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

namespace previrt {

// Each function restricts the calling thread alone: it keeps no privileges, and only the system calls of the
// loop that it is about to enter, whatever a guest makes of the thread. Any other call ends the process. Each
// throws InputError if the kernel has no such filters.

// Runs the processor behind this descriptor.
void confine_processor_thread(int processor);
// Waits for a guest's first process, permits further ones, and kills their group.
void confine_waiting_thread(pid_t group);
// Reads and writes open descriptors.
void confine_privileged_processor_thread(int processor);
// Runs one of several processors of this virtual machine, or the processor on which its VMM answers.
void confine_one_of_several(int processor, int machine);
void confine_vmm_processor_thread(int processor, int machine);
// A relay of packets. It rings the guest's group of processes by a signal; 0: no processes.
void confine_relay_thread(pid_t group = 0);
// The same for the console. Clients of this machine connect to the listeners, of the console and of the
// counts of instructions; -1: there is none.
struct ConsoleListeners {
    int console = -1;
    int counts = -1;
};
void confine_console_thread(const ConsoleListeners& listeners, pid_t group = 0);
// The same for the ports of a console device.
void confine_port_thread(pid_t group = 0);
// The way in which a disk's thread calls the guest.
struct GuestCall {
    pid_t group = 0; // of processes, by a signal
    int event = -1;  // an eventfd
};
// Serves a disk by this io_uring.
void confine_disk_thread(int ring, const GuestCall& call = {});
// Waits for a disk's workers, and reads these files without waiting. `overlay`: -1: there is none.
void confine_disk_caller(int file, int overlay, const GuestCall& call = {});
// Serves a disk by this connection to a daemon, and copies by way of this file.
void confine_image_thread(int connection, int copies, const GuestCall& call = {});
// Reads, writes and synchronizes these files of a disk. `overlay`: -1: there is none.
void confine_disk_worker(int file, int overlay);
// The same for folders: it sends descriptors to their servers, and waits for a server's end.
void confine_folder_thread(pid_t group = 0);
// The same for the streams of commands. A command's terminal may change its size. Clients of further commands
// connect to the listener, and send sockets; -1: there is none.
void confine_channel_thread(int listener, pid_t group = 0);

} // namespace previrt
