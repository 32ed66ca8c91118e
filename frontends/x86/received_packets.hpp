// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// All that the back-end has for the card, cut into frames, as far as the card has room.
void receive_packets(std::uint64_t now);
void drop_received_packets();

} // namespace previrt
