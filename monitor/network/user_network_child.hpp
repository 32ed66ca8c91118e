// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/network/choice.hpp"

#include <cstdint>

namespace previrt {

// The first byte of what it says; behind it, what keeps it from the machine and could not be had, or why it
// failed.
enum class UserNetworkStart : std::uint8_t { begun, failed };

// What a child does after fork: keeps itself from the machine, says through the socket how it went, and is a
// network for whoever is at its other end, until that is closed.
[[noreturn]] void become_user_network(const NetworkChoice& choice, int socket);

} // namespace previrt
