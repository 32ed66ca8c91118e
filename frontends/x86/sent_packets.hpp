// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>

namespace previrt {

// What the card has for the back-end, as far as that has room. To who takes such, segments of a stream go as
// one packet, which is held while others may follow: until the time below, until the processor rests, or
// until flush_packets().
void send_packets(std::uint64_t now);
std::optional<std::uint64_t> held_packet_due();
void flush_packets();

} // namespace previrt
