// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace previrt {

using Bytes = std::vector<std::uint8_t>;

// Sends one message, and takes one; empty: none has come within some seconds, or the socket was closed.
bool send_frame(int socket, const Bytes& frame);
Bytes take_frame(int socket);

// Its bytes follow from its number.
Bytes make_numbered_frame(std::uint32_t number, std::size_t bytes);

} // namespace previrt
