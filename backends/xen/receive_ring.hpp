// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/xen/netif.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace previrt::xen {

// Packets from a netif back-end, in pages that are granted to it once and for all. What comes in pieces is
// put together.
class ReceiveRing {
public:
    static constexpr std::uint16_t pages = ReceivePage::size;
    static constexpr std::uint32_t longest_packet = 3 * page_size;

    // `page`: zeros. `memory`: the pages, and behind them longest_packet bytes. `first_grant`: of the first
    // of them, then one each.
    void start(ReceivePage& page, std::uint8_t* memory, grant_ref_t first_grant);

    // The first, until release(); its bytes may change meanwhile. nullopt: there is none.
    std::optional<std::span<const std::uint8_t>> next();
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
    [[nodiscard]] std::span<const std::uint8_t> part_of(const netif_rx_response& response) const;
    void accept(std::uint16_t page, std::span<const std::uint8_t> packet);
    void accept_piece(std::uint16_t page, std::span<const std::uint8_t> piece, bool is_last);

    FrontRing<netif_rx_request, netif_rx_response> ring_;
    std::uint8_t* memory_ = nullptr;
    grant_ref_t first_grant_ = 0;
    std::optional<std::span<const std::uint8_t>> first_;
    std::optional<std::uint16_t> page_of_first_; // nullopt: it came in pieces
    bool in_pieces_ = false;                     // the last response was one, and not the last
    bool piece_is_refused_ = false;              // and so is the whole
    std::uint32_t pieces_bytes_ = 0;
    std::uint64_t refused_ = 0;
};

} // namespace previrt::xen
