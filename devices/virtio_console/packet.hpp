// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <type_traits>

namespace previrt::console_port {

// What device and host tell each other of one port.
enum class Event : std::uint32_t {
    bytes, // both: behind the header, as many as the packet has
    wants, // device: the guest has room for some
    ended, // host: no more bytes will come
};

struct Header {
    std::uint32_t port;
    Event event;
};
constexpr std::uint32_t header_bytes = 8;
static_assert(sizeof(Header) == header_bytes && std::is_trivially_copyable_v<Header>);

constexpr std::uint32_t most_bytes = 32768; // in one packet
constexpr std::uint32_t longest_packet = header_bytes + most_bytes;

// Port 0 is a console, and no other is.
constexpr unsigned most_ports = 7;
constexpr unsigned most_name_bytes = 32;

} // namespace previrt::console_port
