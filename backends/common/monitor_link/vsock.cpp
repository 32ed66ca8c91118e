// SPDX-License-Identifier: BSD-2-Clause
// Two rings of packets, with the monitor at their other ends.
#include "backends/common/monitor_link/vsock.hpp"

#include "backends/common/monitor_link/doorbells.hpp"
#include "backends/common/monitor_link/ring_pair.hpp"
#include "inplace-vmm/backend/vsock.hpp"

namespace previrt::backend {

using namespace monitored;

namespace {

RingPair& rings() {
    static RingPair pair(vsock().sent, vsock().received);
    return pair;
}

} // namespace

std::optional<std::uint64_t> vsock_address() {
    return vsock().is_there ? std::optional(vsock().guest_cid) : std::nullopt;
}

std::span<std::uint8_t> vsock_room(std::uint32_t least) {
    return rings().room(least);
}

void send_to_host(std::uint32_t bytes) {
    rings().send(bytes);
}

std::span<const std::uint8_t> packet_from_host() {
    const std::optional<RingPacket> packet = rings().next();
    return packet ? packet->bytes : std::span<const std::uint8_t>();
}

void release_packet_from_host() {
    rings().release();
}

void notify_host() {
    if (rings().must_call()) {
        ring_for_vsock();
    }
}

} // namespace previrt::backend
