// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <sys/resource.h>
#include <sys/types.h>

// What a child does between clone and exec to keep itself, and all that it becomes, from the host. Only calls
// that are safe after fork.
namespace previrt {

// Each may be what fails.
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

// Sent when only limits are left to set, when it could become the program, and where it cannot. With the
// first comes where it asks for processes, if it does.
struct ProcessChildReport {
    ProcessStep failed;
    bool is_ready;
    bool has_empty_root;
    bool is_another_user;
    int error;
};

// What the monitor sends: one of the first three, and then the last.
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

struct ProcessChild {
    bool has_user_namespace;
    bool has_mount_namespace;
    int file;   // of the program; -1: there is none, and it ends well
    int memory; // become memory_descriptor, output_event and packet_event; beside these a pipe stays open
    int output;
    int packets;      // -1: none
    int monitor;      // a socket: a ProcessGo comes, when what the monitor does for it is done; reports go
    int monitors_own; // the other end of it
    unsigned processes;
    std::array<ProcessLimit, 9> limits;
};

[[noreturn]] void become_process(const ProcessChild& child);

} // namespace previrt
