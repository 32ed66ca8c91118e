// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/process/contract/layout.hpp"
#include "host/program.hpp"
#include "monitor/process/child.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <sys/types.h>
#include <vector>

namespace previrt {

// A program in a process of its own gets only these of this machine: a few descriptors, and a bounded address
// space.
struct ProcessProgram {
    int file = -1; // an ELF executable; -1: none, to find out what this machine allows
    int memory = -1;
    int output = -1;
    int packets = -1;       // -1: there is no network
    int vsock = -1;         // -1: there are no streams
    int console_ports = -1; // -1: there are none
    DiskEventNumbers disks = no_disk_events;
    FolderEventNumbers folders = no_folder_events;
    std::uint64_t address_space = 0;
    unsigned processes = process::most_hosts; // without the keeper
    unsigned user_listeners = 0;              // of its user processes, which ask the program's filter
};

// The namespaces to ask for.
struct ProcessPlan {
    bool user_namespace;
    bool other_namespaces;
};
// The best first.
constexpr std::array process_plans = {
    ProcessPlan{.user_namespace = true, .other_namespaces = true},
    ProcessPlan{.user_namespace = false, .other_namespaces = true},
    ProcessPlan{.user_namespace = false, .other_namespaces = false},
};

// The bound on the number of processes: Linux's count of this guest alone, the monitor's count, or Linux's
// count of all processes of the user.
enum class ProcessesBoundedBy : std::uint8_t { host, monitor, host_by_user };

// The result. In any case there is a system-call filter, a bound on processes, and no privileges.
struct ProcessLayers {
    bool has_user_namespace = false;
    bool has_other_namespaces = false;
    bool has_empty_root = false;
    bool is_another_user = false;
    ProcessesBoundedBy processes = ProcessesBoundedBy::host;
    unsigned most_processes = process::most_hosts;
    std::string lacking; // the reason why there are no namespaces; empty: there are
};
std::string describe(const ProcessLayers& layers);
// Empty if it has all layers.
std::vector<std::string> missing_layers(const ProcessLayers& layers);

struct StartedProcess {
    pid_t process = 0; // also its group; killed when the calling thread ends
    ProcessLayers layers;
    Descriptor asked;   // for ProcessLeaves, if the monitor counts
    Descriptor channel; // for begin_process
};

// Tries the plans in order. The program has executed no instruction yet. Throws InputError if no plan works.
StartedProcess start_process(const ProcessProgram& program,
                             std::span<const ProcessPlan> plans = process_plans);
// Lets it become the program. Only reads and writes the channel. Returns the reason of a failure; empty: it
// is the program.
std::string begin_process(StartedProcess& started);
// The layers that start_process would give a program here.
ProcessLayers find_process_layers();

// An executable with these bytes, in no directory. Throws InputError.
Descriptor make_executable(std::span<const std::uint8_t> file);

} // namespace previrt
