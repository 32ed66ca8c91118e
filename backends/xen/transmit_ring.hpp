// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/xen/netif.hpp"
#include "ethernet/unfinished.hpp"

#include <cstdint>
#include <span>

namespace previrt::xen {

// Packets on their way to a netif back-end. They are in pages that are granted to it once and for all, to be
// read.
class TransmitRing {
public:
    static constexpr std::uint16_t pages = 240;
    static constexpr std::uint32_t longest_packet = 65535; // what a request can say

    // `page`: zeros. `memory`: the pages. `first_grant`: of the first, then one each.
    void start(TransmitPage& page, std::uint8_t* memory, grant_ref_t first_grant);
    // Whether the back-end takes packets in pieces, of a page each (scatter-gather).
    void send_pieces(bool pieces) { longest_packet_ = pieces ? longest_packet : page_size; }

    // Of so many bytes, and more where there are. Empty: there is none. Once there is no back-end any more,
    // there always is.
    std::span<std::uint8_t> room(std::uint32_t least);
    // So many bytes of the room. False: they are lost.
    bool send(std::uint32_t bytes, const ethernet::Unfinished& left);
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
    // By its first page.
    struct Packet {
        std::uint8_t pages;
        std::uint8_t unanswered; // of these
        bool is_refused;
    };

    void collect();
    void free(std::uint16_t first);
    [[nodiscard]] std::uint16_t find(std::uint32_t count) const;
    [[nodiscard]] std::uint32_t most_pages() const;
    void go_on(std::uint32_t count);
    [[nodiscard]] bool fits(std::uint32_t count); // at next_

    FrontRing<netif_tx_request, netif_tx_response> ring_;
    std::uint8_t* memory_ = nullptr;
    grant_ref_t first_grant_ = 0;
    std::uint32_t longest_packet_ = page_size;
    std::uint16_t next_ = 0; // page of the room
    std::uint32_t run_ = 0;  // of free pages there, as far as was looked
    Packet packets_[pages] = {};
    std::uint16_t first_of_[pages] = {}; // the packet that a page is of
    bool is_used_[pages] = {};           // until all its packet is answered
    bool is_sent_[pages] = {};           // until it is answered
    std::uint64_t refused_ = 0;
};

} // namespace previrt::xen
