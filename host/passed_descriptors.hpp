// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace previrt {

// One message over a Unix socket, with descriptors for the process that receives it. `flags`: those of
// sendmsg. False: the socket has not taken the whole message.
bool send_with_descriptors(int socket, std::span<const std::uint8_t> bytes, std::span<const int> descriptors,
                           int flags = 0);

struct ReceivedDescriptors {
    std::size_t bytes = 0; // 0: none, or an error
    std::size_t count = 0;
    bool is_complete = true; // false: there was no room for all descriptors
};
// Places the descriptors into `room`, and closes those that find no room there.
ReceivedDescriptors receive_with_descriptors(int socket, std::span<std::uint8_t> bytes,
                                             std::span<Descriptor> room, int flags = 0);

} // namespace previrt
