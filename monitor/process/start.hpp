// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/process/contract/layout.hpp"
#include "host/program.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <sys/types.h>
#include <vector>

namespace previrt {

// What a program in a process of its own has of this machine: a few descriptors, and so much address space.
struct ProcessProgram {
    int file = -1; // an ELF executable; -1: none, to find out what this machine allows
    int memory = -1;
    int output = -1;
    int packets = -1; // -1: it has no network
    std::uint64_t address_space = 0;
    unsigned processes = process::most_hosts; // beside the first, which waits for them
    bool has_user_processes = false;          // beside its others; a filter of theirs asks it
};

// What this machine is asked for.
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

// Who bounds the number of its processes: Linux by a count of this guest's alone, the monitor, or Linux by
// its count of all that belong to the same user.
enum class ProcessesBoundedBy : std::uint8_t { host, monitor, host_by_user };

// What it gave. In any case there is a filter of its calls, a bound on its processes, and no privileges are
// left.
struct ProcessLayers {
    bool has_user_namespace = false;
    bool has_other_namespaces = false;
    bool has_empty_root = false;
    bool is_another_user = false;
    ProcessesBoundedBy processes = ProcessesBoundedBy::host;
    unsigned most_processes = process::most_hosts;
    std::string lacking; // why it has no namespaces; empty: it has
};
std::string describe(const ProcessLayers& layers);
// One that has all layers lacks none.
std::vector<std::string> missing_layers(const ProcessLayers& layers);

struct StartedProcess {
    pid_t process = 0; // and of its group; ended by SIGKILL with the calling thread
    ProcessLayers layers;
    Descriptor asked;   // for ProcessLeaves, where they are the monitor's to give
    Descriptor channel; // for begin_process
};

// By the first plan that works. Nothing of the program has been executed yet. Throws InputError where none
// does.
StartedProcess start_process(const ProcessProgram& program,
                             std::span<const ProcessPlan> plans = process_plans);
// Now it may become the program. Only reads and writes the channel. Throws InputError where it does not.
void begin_process(StartedProcess& started);
// What start_process would give a program here.
ProcessLayers find_process_layers();

// An executable of these bytes, in no directory. Throws InputError.
Descriptor make_executable(std::span<const std::uint8_t> file);

} // namespace previrt
