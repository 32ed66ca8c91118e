// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "toolchain/run/kvm_console.hpp"
#include "toolchain/run/kvm_processor.hpp"
#include "toolchain/run/machine.hpp"
#include "toolchain/run/run.hpp"

#include <functional>
#include <pthread.h>

namespace previrt {

struct KvmEnd {
    MachineEnd machine;
    KvmExit processor;
};

// A thread's work, and how another thread ends it.
struct ProcessorThread {
    std::function<KvmExit()> run; // confines itself first
    std::function<void(pthread_t)> stop;
};

Descriptor make_event();
KvmEvents make_events();

// Until the guest has ended, or has to be ended.
KvmEnd run_with_console(const RunOptions& options, KvmConsole& console, const KvmEvents& events,
                        const ProcessorThread& processor);

} // namespace previrt
