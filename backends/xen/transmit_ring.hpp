// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/xen/netif.hpp"

#include <cstdint>

namespace previrt::xen {

// Packets on their way to a netif back-end. Their rooms are granted to it once and for all, to be read.
class TransmitRing {
public:
    static constexpr std::uint16_t rooms = 64;
    static constexpr std::uint16_t room_pages = 3; // of a jumbo frame, which the card asks for each time
    static constexpr std::uint16_t pages = rooms * room_pages;
    static constexpr std::uint32_t room_bytes = room_pages * page_size;

    // `page`: zeros. `memory`: the rooms. `first_grant`: of their first page, then one each.
    void start(TransmitPage& page, std::uint8_t* memory, grant_ref_t first_grant);
    // Whether the back-end takes packets in pieces, of a page each (scatter-gather).
    void send_pieces(bool pieces) { longest_packet_ = pieces ? room_bytes : page_size; }

    // nullptr: there is none. Once there is no back-end any more, there always is.
    std::uint8_t* room(std::uint32_t bytes);
    // So many bytes of the room. False: they are lost.
    bool send(std::uint32_t bytes);
    // Behind the last of some: whether the back-end is to be notified.
    bool push() { return ring_.push(); }
    // Before waiting for a room: false where there is one.
    bool wait();
    // There is no back-end any more.
    void give_up() { ring_.give_up(); }
    [[nodiscard]] bool is_broken() const { return ring_.is_broken(); }
    // What the back-end says that it did not send.
    [[nodiscard]] std::uint64_t refused() const { return refused_; }

private:
    struct Room {
        std::uint8_t unanswered; // of its pages
        bool is_refused;
    };

    void collect();
    void free(std::uint16_t room);

    FrontRing<netif_tx_request, netif_tx_response> ring_;
    std::uint8_t* memory_ = nullptr;
    grant_ref_t first_grant_ = 0;
    std::uint32_t longest_packet_ = page_size;
    std::uint16_t free_[rooms] = {}; // the last is the next
    std::uint32_t free_count_ = 0;
    Room rooms_[rooms] = {};
    bool is_sent_[pages] = {};
    std::uint64_t refused_ = 0;
};

static_assert(TransmitRing::pages <= TransmitPage::size);

} // namespace previrt::xen
