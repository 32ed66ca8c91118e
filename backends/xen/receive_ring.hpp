// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/xen/netif.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace previrt::xen {

// Packets from a netif back-end, each in a page that is granted to it once and for all.
class ReceiveRing {
public:
    static constexpr std::uint16_t pages = ReceivePage::size;

    // `page`: zeros. `memory`: the pages. `first_grant`: of the first of them, then one each.
    void start(ReceivePage& page, std::uint8_t* memory, grant_ref_t first_grant);

    // The first, until release(); its bytes may change meanwhile. nullopt: there is none.
    std::optional<std::span<const std::uint8_t>> next();
    void release();
    // Behind the last of some: whether the back-end is to be notified.
    bool push() { return ring_.push(); }
    // Before waiting for a packet: false where one has come.
    bool wait() { return ring_.wait(1); }
    [[nodiscard]] bool is_broken() const { return ring_.is_broken(); }
    // What was no packet, or not all of one.
    [[nodiscard]] std::uint64_t refused() const { return refused_; }

private:
    void post(std::uint16_t page);
    bool accept(const netif_rx_response& response);

    FrontRing<netif_rx_request, netif_rx_response> ring_;
    std::uint8_t* memory_ = nullptr;
    grant_ref_t first_grant_ = 0;
    bool in_pieces_ = false; // what comes next belongs to what was refused
    std::optional<netif_rx_response> first_;
    std::uint64_t refused_ = 0;
};

} // namespace previrt::xen
