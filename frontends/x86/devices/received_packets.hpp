// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>

namespace previrt {

// Moves the back-end's packets into the card, cut into frames, as far as the card has room. A busy processor
// gets a pause after each full receive ring.
void receive_packets(std::uint64_t now);
std::optional<std::uint64_t> pause_ends_at();
void drop_received_packets();

} // namespace previrt
