// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/network/choice.hpp"

#include <cstdint>

namespace previrt {

// The first byte of the child's report. Behind it are the missing layers of its isolation, or the reason of
// its failure.
enum class UserNetworkStart : std::uint8_t { begun, failed };

// The child's work after fork: isolates itself from the machine, reports through the socket, and then is the
// network of the socket's peer, until the peer closes it.
[[noreturn]] void become_user_network(const NetworkChoice& choice, int socket);

} // namespace previrt
