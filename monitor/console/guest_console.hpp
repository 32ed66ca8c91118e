// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"
#include "monitor/console/host_console.hpp"
#include "monitor/console/prompt_wait.hpp"
#include "monitor/console/ring_ends.hpp"
#include "monitor/console/vmm_console.hpp"
#include "monitor/options.hpp"
#include "monitor/profile/counts_clients.hpp"
#include "monitor/qemu/machine.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace previrt {

// Events (eventfd) of a console.
struct ConsoleEvents {
    Descriptor output; // the guest's doorbell: it wrote to the output ring, or read from the input ring
    Descriptor ended;  // the processor's: the guest has ended
};

// A guest's console, on standard input and output or at the options' console.
class MonitoredConsole {
public:
    // `input_came`: rings the guest for its input ring.
    MonitoredConsole(const RunOptions& options, const ConsoleEvents& events, monitored::ConsoleRing& output,
                     monitored::ConsoleRing& input, std::function<void()> input_came);

    // For clients that watch: the VMM's counts of instructions, in memory of this process. nullopt: it has
    // none.
    void serve(const std::optional<CountsMemory>& counts) { counts_clients_.serve(counts); }

    // Call it when this thread has no more privileges than it needs.
    void begin() { host_.begin(); }
    // Until the guest has ended, or the user, time or a signal ends it. `terminal`: standard input is a
    // terminal in raw mode.
    void relay(const Descriptor& ending_signals, bool terminal);
    // By another thread, after the guest has ended: delivers its last output.
    MachineEnd deliver(const Descriptor& ending_signals);

    [[nodiscard]] const VmmConsole& vmm() const { return vmm_; }
    // The end of the guest's output.
    [[nodiscard]] const std::string& tail() const { return tail_; }

private:
    using Clock = PromptWait::Clock;

    [[nodiscard]] bool wants_keys();
    [[nodiscard]] std::optional<Clock::time_point> deadline() const;
    [[nodiscard]] int milliseconds_to_wait() const;
    [[nodiscard]] bool ending() const;
    void look_at_clock();
    void send_keys();
    void relay_output();
    void show(std::string_view text);

    const RunOptions& options_;
    const ConsoleEvents& events_;
    RingReader output_;
    RingWriter input_;
    std::function<void()> input_came_;
    HostConsole host_;
    CountsClients counts_clients_;
    bool stop_ = false;
    std::string tail_;
    VmmConsole vmm_;
    ConsoleWatch watch_;
    PromptWait prompt_wait_;
    MachineEnd end_;
    Clock::time_point begin_;
    Clock::time_point last_output_at_;
    std::optional<Clock::time_point> ending_since_;
};

} // namespace previrt
