// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>

namespace previrt::virtio {

// The host's end of a device that exchanges packets with it, for one call.
struct PacketHost {
    // Room for a packet of this size. Empty: there is none now.
    std::span<std::uint8_t> (*room)(void* context, std::uint32_t bytes);
    // The room has a packet of this size.
    void (*send)(void* context, std::uint32_t bytes);
    // The oldest packet for the guest, which stays until it is released. Empty: there is none.
    std::span<const std::uint8_t> (*next)(void* context);
    void (*release)(void* context);
    void* context;
};

} // namespace previrt::virtio
