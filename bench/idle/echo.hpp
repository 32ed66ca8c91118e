// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "ethernet/frame.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

// ICMP's echo between the bench and its guests. Nobody broadcasts: on an Ethernet of a thousand guests each
// broadcast would wake them all.
namespace previrt::echo {

// A guest by its number, from 1 on; the bench has a number of its own.
using Station = std::uint16_t;
constexpr Station bench = 0xfffe;

constexpr std::size_t frame_bytes = ethernet::shortest_frame;
using Frame = std::array<std::uint8_t, frame_bytes>;

// A station has this number in the last two bytes of its addresses.
ethernet::MacAddress mac_of(Station station);
std::string text_of_mac(Station station);
std::string text_of_address(Station station); // of IPv4

enum class Kind : std::uint8_t { answer = 0, request = 8 };

Frame make(Kind kind, Station to, Station from);

struct Received {
    Kind kind;
    Station from;
};
// nullopt: it is no echo for this station.
std::optional<Received> read(ethernet::Frame frame, Station own);
// The answer to a request, whose own content it repeats, in place.
void turn_into_answer(std::span<std::uint8_t> frame);

} // namespace previrt::echo
