// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/console/console_clients.hpp"
#include "monitor/console/output_pump.hpp"
#include "monitor/options.hpp"
#include "monitor/qemu/machine.hpp"

#include <chrono>
#include <optional>
#include <poll.h>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace previrt {

// The host's side of a guest's console: standard input and output, or the options' console, and clients. Only
// poll() waits here: neither a stopped reader nor a guest that never reads delays the monitor.
class HostConsole {
public:
    using Clock = std::chrono::steady_clock;

    // Throws InputError.
    explicit HostConsole(const RunOptions& options);

    // Call it before any output, when this thread has no more privileges than it needs.
    void begin();

    // Standard input is a terminal in raw mode.
    void is_terminal() { terminal_ = true; }
    // A person may look at the console now.
    [[nodiscard]] bool has_person() const { return terminal_ || clients_.are_there(); }
    // A person types: keys need no prompt of the guest's.
    [[nodiscard]] bool has_typist() const { return terminal_ || clients_.have_typed(); }

    void show(std::string_view text);
    // The reader has not taken earlier output: further output has to wait.
    [[nodiscard]] bool is_full() const;

    // Typed keys for the guest; took_keys() removes those that the guest has taken.
    [[nodiscard]] std::string_view keys() const { return keys_; }
    void took_keys(std::size_t count) { keys_.erase(0, count); }
    [[nodiscard]] bool may_type() const { return input_open_ || clients_.have_typed(); }
    [[nodiscard]] bool typed_end() const { return typed_end_; } // Ctrl-]

    // For poll(): adds some, of which polled() gets the answers. A terminal is read at any time; other input
    // only if the guest wants keys and none wait.
    void add_wanted(std::vector<pollfd>& polls, bool wants_keys) const;
    void polled(std::span<const pollfd> polls);

    // The guest has ended. Waits until the reader has taken all output. If the guest ended by itself, the
    // deadline, a signal or Ctrl-] end the wait; else some seconds do.
    void deliver(MachineEnd& end, int signals, std::optional<Clock::time_point> deadline);

private:
    [[nodiscard]] pollfd wanted_keys(bool wants_keys) const;
    [[nodiscard]] std::size_t room_for_keys() const;
    void read_keys();
    void await_reader(MachineEnd& end, int signals, std::optional<Clock::time_point> deadline);
    void discard_answers();

    const RunOptions& options_;
    bool terminal_ = false;
    bool input_open_;
    bool typed_end_ = false;
    std::string keys_;
    std::size_t keys_lost_ = 0;
    std::optional<OutputPump> output_;
    std::optional<Clock::time_point> asked_at_;
    ConsoleClients clients_;
};

} // namespace previrt
