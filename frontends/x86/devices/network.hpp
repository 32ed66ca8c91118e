// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>

namespace previrt {

// Puts a card into the PC, where there is a network.
void insert_network_card();
// What the card and the back-end have for each other. All there is at once: one interrupt, and one call of
// the other side at most.
void move_packets(std::uint64_t now);
// When to do that again without more coming.
std::optional<std::uint64_t> packets_due();

} // namespace previrt
