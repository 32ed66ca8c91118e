// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>

namespace previrt::agent {

// This process cannot go on, or has done its work. The guest's first process powers the guest off. Any other
// process ends, and hangs its command up, if it has one.
[[noreturn]] void leave();
// The same, with a reason for the guest's console.
[[noreturn]] void give_up(const char* reason);
// The group of processes that leave() hangs up.
void hang_up_at_the_end(int group);

// Moves all of the bytes to or from a nonblocking socket. Without its monitor this process leaves.
void receive(int socket, void* to, std::size_t bytes);
void send(int socket, const void* from, std::size_t bytes);

} // namespace previrt::agent
