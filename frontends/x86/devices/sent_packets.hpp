// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>

namespace previrt {

// What the card has for the back-end, as far as that has room. To who takes such, segments of a stream go as
// one packet. It waits until more requests have come, until the time below, or until the processor rests.
void send_packets(std::uint64_t now);
std::optional<std::uint64_t> transmission_due();
// The card has been asked once more for what it was asked for already. False: to be sent now.
bool transmission_waits();
// What has been taken from the guest.
void flush_packets();

} // namespace previrt
