// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>

namespace previrt {

// All that the back-end has for the card, cut into frames, as far as the card has room; but that a processor
// that has other work has a pause between as much as its ring holds.
void receive_packets(std::uint64_t now);
std::optional<std::uint64_t> pause_ends_at();
void drop_received_packets();

} // namespace previrt
