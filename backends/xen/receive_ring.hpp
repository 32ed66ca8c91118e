// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/xen/netif.hpp"
#include "inplace-vmm/backend/packets.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace previrt::xen {

// Packets from a netif back-end, in permanently granted pages. Joins packets that come in several slots.
class ReceiveRing {
public:
    static constexpr std::uint16_t pages = ReceivePage::size;
    static constexpr std::uint32_t longest_packet = 17 * page_size; // IPv4's longest, with its frame's header

    // `page`: zeros. `memory`: the pages, and behind them longest_packet bytes. `first_grant`: of the first
    // page; those of the others follow it.
    void start(ReceivePage& page, std::uint8_t* memory, grant_ref_t first_grant);

    // The first packet. It stays until release(); the back-end may change its bytes meanwhile. nullopt: there
    // is none.
    std::optional<backend::ReceivedPacket> next();
    void release();
    // Called after some packets: whether the back-end wants a notification.
    bool push() { return ring_.push(); }
    // Announces a wait for a packet. False: one has come already.
    bool wait() { return ring_.wait(1); }
    [[nodiscard]] bool is_broken() const { return ring_.is_broken(); }
    // The number of invalid packets.
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
    std::optional<std::uint16_t> page_of_first_; // nullopt: it came in several slots
    // A packet of several slots that is not complete yet.
    backend::ReceivedPacket pieces_{}; // without its bytes
    std::uint32_t pieces_bytes_ = 0;
    bool piece_follows_ = false;
    bool extra_follows_ = false;
    bool is_refused_ = false; // a slot was invalid
    std::uint64_t refused_ = 0;
};

} // namespace previrt::xen
