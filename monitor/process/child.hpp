// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/backend/disk.hpp"
#include "inplace-vmm/backend/folder.hpp"

#include <array>
#include <cstdint>
#include <sys/resource.h>
#include <sys/types.h>

// The child's work between clone and exec: isolates the host from itself and from the program. Only calls
// that are safe after fork.
namespace previrt {

// Each may fail.
enum class ProcessStep : std::uint8_t {
    none,
    monitor,
    user,
    empty_root,
    limits,
    descriptors,
    privileges,
    life_line,
    processes,
    program,
};
inline constexpr std::array process_step_names = {"clone",         "its start", "another user",
                                                  "an empty root", "limits",    "descriptors",
                                                  "privileges",    "its end",   "a bound on its processes",
                                                  "exec"};

// Sent when only limits are left to set, when the child could become the program, and when a step fails. The
// first report has the descriptor of its requests for processes, if it makes any.
struct ProcessChildReport {
    ProcessStep failed;
    bool is_ready;
    bool has_empty_root;
    bool is_another_user;
    int error;
};

// The monitor sends one of the first three, and then the last.
enum class ProcessGo : std::uint8_t {
    processes_are_counted,
    ask_for_processes,
    bound_processes_of_user,
    become_the_program
};

constexpr uid_t nobody = 65534;
constexpr gid_t nogroup = 65534;

struct ProcessLimit {
    __rlimit_resource_t resource;
    rlim_t most;
};

// The doorbells of disks; -1: there is no such disk.
using DiskEventNumbers = std::array<int, backend::most_disks>;
constexpr DiskEventNumbers no_disk_events = [] {
    DiskEventNumbers numbers{};
    numbers.fill(-1);
    return numbers;
}();

// The doorbells of folders: the monitor's first, then those of each folder's queues; -1: there is none.
using FolderEventNumbers = std::array<int, 1 + (backend::most_folders * backend::most_folder_queues)>;
constexpr FolderEventNumbers no_folder_events = [] {
    FolderEventNumbers numbers{};
    numbers.fill(-1);
    return numbers;
}();

struct ProcessChild {
    bool has_user_namespace;
    bool has_mount_namespace;
    int file;   // of the program; -1: none, and the child ends with success
    int memory; // they become memory_descriptor, output_event, packet_event, vsock_event, console_ports_event
                // and the events of disks and folders; a pipe stays open beside these
    int output;
    int packets;       // -1: none
    int vsock;         // -1: none
    int console_ports; // -1: none
    DiskEventNumbers disks;
    FolderEventNumbers folders;
    int monitor; // a socket: a ProcessGo comes when the monitor has done its part; reports go the other way
    int monitors_own; // the monitor's end of it
    unsigned processes;
    std::array<ProcessLimit, 9> limits;
};

[[noreturn]] void become_process(const ProcessChild& child);

} // namespace previrt
