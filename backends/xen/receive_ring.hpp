// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/xen/netif.hpp"
#include "inplace-vmm/backend/packets.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace previrt::xen {

// Packets from a netif back-end, in pages that are granted to it once and for all. What comes in pieces is
// put together.
class ReceiveRing {
public:
    static constexpr std::uint16_t pages = ReceivePage::size;
    static constexpr std::uint32_t longest_packet = 17 * page_size; // IPv4's longest, with its frame's header

    // `page`: zeros. `memory`: the pages, and behind them longest_packet bytes. `first_grant`: of the first
    // of them, then one each.
    void start(ReceivePage& page, std::uint8_t* memory, grant_ref_t first_grant);

    // The first, until release(); its bytes may change meanwhile. nullopt: there is none.
    std::optional<backend::ReceivedPacket> next();
    void release();
    // Behind the last of some: whether the back-end is to be notified.
    bool push() { return ring_.push(); }
    // Before waiting for a packet: false where one has come.
    bool wait() { return ring_.wait(1); }
    [[nodiscard]] bool is_broken() const { return ring_.is_broken(); }
    // What was no packet.
    [[nodiscard]] std::uint64_t refused() const { return refused_; }

private:
    void post(std::uint16_t page);
    [[nodiscard]] std::span<std::uint8_t> part_of(const netif_rx_response& response) const;
    void accept(const netif_rx_response& response);
    void accept_piece(const netif_rx_response& response);
    void accept_extra(const netif_rx_response& slot);
    void end_pieces();

    FrontRing<netif_rx_request, netif_rx_response> ring_;
    std::uint8_t* memory_ = nullptr;
    grant_ref_t first_grant_ = 0;
    std::uint16_t posted_[pages] = {}; // by slot of the ring
    std::optional<backend::ReceivedPacket> first_;
    std::optional<std::uint16_t> page_of_first_; // nullopt: it came in pieces
    // One that has begun to come, and not in a single page.
    backend::ReceivedPacket pieces_{}; // but for its bytes
    std::uint32_t pieces_bytes_ = 0;
    bool piece_follows_ = false;
    bool extra_follows_ = false;
    bool is_refused_ = false; // a piece was none
    std::uint64_t refused_ = 0;
};

} // namespace previrt::xen
