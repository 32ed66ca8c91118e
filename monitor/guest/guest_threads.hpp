// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/console/guest_console.hpp"
#include "monitor/guest/isolation.hpp"
#include "monitor/guest/processor_end.hpp"
#include "monitor/options.hpp"
#include "monitor/qemu/machine.hpp"

#include <functional>
#include <pthread.h>

namespace previrt {

struct MonitoredEnd {
    MachineEnd machine;
    ProcessorEnd processor;
};

// A thread's work, and how another thread ends it.
struct ProcessorThread {
    std::function<ProcessorEnd()> run; // confines itself first
    std::function<void(pthread_t)> stop;
    pid_t group = 0;            // of processes that are the guest, which the others may call
    bool is_nobody = true;      // the guest, where it is processes: its user
    MissingLayers missing = {}; // between it and this machine
};

// Another's, where there is a network.
struct PacketThread {
    std::function<void()> run; // confines itself first; empty: there is none
    std::function<void()> end;
    pid_t process = 0;     // of its own, to be ended; 0: none
    bool connects = false; // again and again, by a path
};

Descriptor make_event();
ConsoleEvents make_events();

// Until the guest has ended, or has to be ended.
MonitoredEnd run_with_console(const RunOptions& options, MonitoredConsole& console,
                              const ConsoleEvents& events, const ProcessorThread& processor,
                              const PacketThread& packets = {});

} // namespace previrt
