// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "guest/agent/messages.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace previrt {

struct GuestProcess;

// The end of a command.
struct CommandEnd {
    std::optional<std::uint8_t> status; // nullopt: the guest has said nothing
    std::string failure;                // why it was not started
    std::uint32_t failed_call = 0;      // of the process's own that stopped its start; counts from 1
    bool timed_out = false;             // nobody read its output until the run's time was up

    // The agent's last message. False: it is none.
    bool take(agent::Message message, std::uint32_t value);
    // For a message, if there is a failure: its place in the process, and why.
    [[nodiscard]] std::string describe_failure(const std::string& command, const GuestProcess* process) const;
};

} // namespace previrt
