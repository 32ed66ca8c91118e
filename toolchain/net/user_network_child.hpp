// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "toolchain/net/network_choice.hpp"

namespace previrt {

// What a child does after fork: keeps itself from the machine, says through the socket how it went (a NUL,
// and then nothing, or why not), and is a network for whoever is at its other end, until that is closed.
[[noreturn]] void become_user_network(const NetworkChoice& choice, int socket);

} // namespace previrt
