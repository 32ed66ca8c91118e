// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/xen/device_node.hpp"

#include <array>
#include <cstdint>

namespace previrt::xen {

// The data that the back-end gets: the grants of the two rings, and a port.
struct VifEnds {
    std::uint32_t transmit_ring;
    std::uint32_t receive_ring;
    std::uint32_t port;
};

// This domain's network device in xenstore: the front-end's part of the protocol in xen/io/xenbus.h and
// netif.h. A back-end that has gone does not come back, because the rings are not made anew.
class Vif {
public:
    using Address = std::array<std::uint8_t, 6>;

    // False: there is no device, or an invalid one.
    bool find(Xenstore& store);
    [[nodiscard]] const Address& address() const { return address_; }
    [[nodiscard]] std::uint16_t backend() const { return node_.backend(); }

    // The rings are ready. The back-end gets them once it waits for them.
    void offer(const VifEnds& ends);
    // Asks xenstore only after xenstore has reported a change.
    bool is_connected();
    // Of a connected back-end: it takes packets in several slots.
    [[nodiscard]] bool takes_pieces() const { return takes_pieces_; }
    // It also takes merged TCP segments of IPv4 and partial checksums.
    [[nodiscard]] bool takes_unfinished() const { return takes_pieces_ && takes_segments_; }
    // It will not be connected any more.
    [[nodiscard]] bool is_closed() const { return is_closed_; }

private:
    bool tell(const VifEnds& ends);
    void follow(unsigned state);

    DeviceNode node_;
    Address address_{};
    VifEnds ends_{};
    bool is_offered_ = false;
    bool is_connected_ = false;
    bool takes_pieces_ = false;
    bool takes_segments_ = false;
    bool is_closed_ = false;
};

} // namespace previrt::xen
