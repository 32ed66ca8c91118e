// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "guest/agent/messages.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace previrt {

// The end of a command.
struct CommandEnd {
    std::optional<std::uint8_t> status; // nullopt: the guest has said nothing
    std::string failure;                // why it was not started
    bool timed_out = false;             // nobody read its output until the run's time was up

    // The agent's last message. False: it is none.
    bool take(agent::Message message, std::uint32_t value);
};

} // namespace previrt
