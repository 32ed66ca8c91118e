// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/process/handover.hpp"
#include "toolchain/host/program.hpp"
#include "toolchain/run/mapping.hpp"
#include "toolchain/run/monitored_console.hpp"
#include "toolchain/run/monitored_threads.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <sys/types.h>

namespace previrt {

// A guest in processes of this machine: their memory, the first of them, and their console.
class ProcessMachine {
public:
    // Throws InputError for what this machine does not give.
    ProcessMachine(const RunOptions& options, const monitored::ClockStart& clock,
                   std::span<const std::uint8_t> package);
    ~ProcessMachine();
    ProcessMachine(const ProcessMachine&) = delete;
    ProcessMachine& operator=(const ProcessMachine&) = delete;

    MonitoredEnd run(const RunOptions& options);
    [[nodiscard]] const MonitoredConsole& console() const { return *console_; }

private:
    [[nodiscard]] monitored::ConsoleRing& ring(const monitored::Part& part) const;
    void fill(std::span<const std::uint8_t> package);
    void start();
    void call() const;
    ProcessorEnd wait();
    void end() const;

    process::Handover handover_;
    Descriptor file_;
    Mapping memory_; // of the VMM
    ConsoleEvents events_;
    std::uint64_t event_word_ = 0; // its offset
    pid_t first_ = 0;              // and the group of all
    std::unique_ptr<MonitoredConsole> console_;
};

} // namespace previrt
