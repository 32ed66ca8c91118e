// SPDX-License-Identifier: BSD-2-Clause
// Two rings of packets, the monitor at their other ends.
#include "backends/monitored/doorbells.hpp"
#include "inplace-vmm/backend.hpp"
#include "inplace-vmm/counters.hpp"

#include <algorithm>

namespace previrt::backend {

using namespace monitored;

namespace {

PacketWriter& writer() {
    static PacketWriter sent(*reinterpret_cast<PacketRing*>(place_of(network().sent)));
    return sent;
}

PacketReader& reader() {
    static PacketReader received(*reinterpret_cast<PacketRing*>(place_of(network().received)));
    return received;
}

bool has_sent;
bool has_released;

} // namespace

std::optional<NetworkAddress> network_address() {
    if (!network().is_there) {
        return {};
    }
    NetworkAddress address{};
    std::ranges::copy(network().address, address.begin());
    return address;
}

bool network_is_up() {
    return !__atomic_load_n(&network().is_down, __ATOMIC_ACQUIRE);
}

std::uint8_t* packet_room(std::uint32_t bytes) {
    std::uint8_t* const room = writer().reserve(bytes);
    return room != nullptr || writer().wait(bytes) ? room : writer().reserve(bytes);
}

void send_packet(std::uint32_t bytes) {
    writer().commit(bytes);
    has_sent = true;
}

std::optional<std::span<const std::uint8_t>> received_packet() {
    const std::optional<std::span<const std::uint8_t>> packet = reader().next();
    return packet || reader().wait() ? packet : reader().next();
}

void release_packet() {
    reader().release();
    has_released = true;
}

void notify_packets() {
    // Both, as each clears its flag.
    const bool reader_waits = has_sent && writer().must_call();
    const bool writer_waits = has_released && reader().must_call();
    has_sent = false;
    has_released = false;
    if (reader_waits || writer_waits) {
        ++counters.packet_calls;
        ring_for_packets();
    }
}

} // namespace previrt::backend
