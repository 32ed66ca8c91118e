// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "guest/agent/messages.hpp"
#include "monitor/options.hpp"

#include <string>

namespace previrt {

// The agent's request for the options' process, or for their command, with a clean environment: what a login
// has, this terminal's type and language, and the options' variables. Throws InputError if it is too long.
std::string make_start_message(const RunOptions& options, std::uint32_t terminals,
                               const agent::Window& window);

// A message of the control stream.
template <typename Content>
std::string make_message(agent::Message message, const Content& content) {
    const agent::MessageHeader header{.message = message, .bytes = sizeof content};
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
    return bytes.append(reinterpret_cast<const char*>(&content), sizeof content);
}

} // namespace previrt
