// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/console/output_pump.hpp"
#include "monitor/options.hpp"
#include "monitor/qemu/machine.hpp"

#include <array>
#include <chrono>
#include <optional>
#include <poll.h>
#include <string>
#include <string_view>

namespace previrt {

// What this machine has at the other end of a guest's console: standard input and output, or where the
// options want it. Only poll() waits here: neither a reader that has stopped nor a guest that never
// reads delays anybody.
class HostConsole {
public:
    using Clock = std::chrono::steady_clock;
    using Polls = std::array<pollfd, 3>;

    // Throws InputError.
    explicit HostConsole(const RunOptions& options);

    // Before anything is shown, and once this thread has no more privileges than it needs.
    void begin();

    // Standard input is a terminal, and raw.
    void is_terminal() { terminal_ = true; }
    [[nodiscard]] bool has_terminal() const { return terminal_; }

    void show(std::string_view text);
    // Nobody has read what was shown before: whoever prints more has to wait.
    [[nodiscard]] bool is_full() const;

    // What was typed, for the guest; and that it has taken some of it.
    [[nodiscard]] std::string_view keys() const { return keys_; }
    void took_keys(std::size_t count) { keys_.erase(0, count); }
    [[nodiscard]] bool may_type() const { return input_open_; }
    [[nodiscard]] bool typed_end() const { return typed_end_; } // Ctrl-]

    // A terminal's keys are read at any time, others where they are wanted and none are there.
    [[nodiscard]] Polls wanted(bool wants_keys) const;
    void polled(const Polls& polls);

    // The guest is over. Waits until all that it printed has been taken: if it ended by itself, until time, a
    // signal or Ctrl-] end that; else for some seconds.
    void deliver(MachineEnd& end, int signals, std::optional<Clock::time_point> deadline);

private:
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
};

} // namespace previrt
