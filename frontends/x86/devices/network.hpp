// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>

namespace previrt {

// Puts a card into the PC if the guest has a network.
void insert_network_card();
// Moves all waiting packets between card and back-end, with at most one interrupt and one doorbell to the
// peer.
void move_packets(std::uint64_t now);
// The time to call move_packets again, even if nothing else happens.
std::optional<std::uint64_t> packets_due();

} // namespace previrt
