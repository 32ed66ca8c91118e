// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/console/guest_console.hpp"
#include "monitor/guest/isolation.hpp"
#include "monitor/guest/processor_end.hpp"
#include "monitor/options.hpp"
#include "monitor/qemu/machine.hpp"

#include <functional>
#include <pthread.h>
#include <string>
#include <vector>

namespace previrt {

struct MonitoredEnd {
    MachineEnd machine;
    ProcessorEnd processor;
};

// The thread of the streams to the guest's agent.
struct ChannelThread {
    std::function<void()> begin;  // takes signals and terminal; empty: the guest has no command of its own
    std::function<void()> run;    // confines itself first; empty: the guest has no agent
    std::function<void()> end;    // the guest has ended
    std::function<void()> finish; // after run(): gives the terminal back; empty as the first
    int given_up = -1;            // an eventfd: this run shall end
};

// The work of a thread, and the way for another thread to end it.
struct ProcessorThread {
    std::function<ProcessorEnd()> run; // confines itself first
    std::function<void(pthread_t)> stop;
    pid_t group = 0;            // of the guest's processes, which other threads may ring
    bool is_nobody = true;      // the user of the guest's processes is nobody
    MissingLayers missing = {}; // between the guest and this machine
};

// The thread of the network.
struct PacketThread {
    std::function<void()> run; // confines itself first; empty: there is no network
    std::function<void()> end;
    pid_t process = 0;     // the network's own process, to be killed; 0: none
    bool connects = false; // it connects repeatedly, by a path
};

// The thread of all folders.
struct FolderThread {
    std::function<std::string()> run; // confines itself first; why the guest must end. Empty: no folders
    std::function<void()> end;
};

// The thread of the console device's ports.
struct PortThread {
    std::function<void()> begin; // starts the threads that write; empty: there are no ports
    // Confines itself first. `signals`: a descriptor that is readable when a signal ends this run.
    std::function<void(int signals)> run;
    std::function<void()> end; // the guest has ended; run() returns when its output is delivered
};

// The thread of a disk.
struct DiskThread {
    std::function<void()> run; // confines itself first
    std::function<void()> end;
};

Descriptor make_event();
ConsoleEvents make_events();

// Until the guest ends, or the monitor has to end it.
MonitoredEnd run_with_console(const RunOptions& options, MonitoredConsole& console,
                              const ConsoleEvents& events, const ProcessorThread& processor,
                              const PacketThread& packets = {}, const std::vector<DiskThread>& disks = {},
                              const ChannelThread& channel = {}, const FolderThread& folders = {},
                              const PortThread& ports = {});

} // namespace previrt
