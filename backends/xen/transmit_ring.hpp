// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/xen/netif.hpp"
#include "ethernet/unfinished.hpp"

#include <cstdint>
#include <span>

namespace previrt::xen {

// Packets to a netif back-end, in pages that are permanently granted for reading.
class TransmitRing {
public:
    static constexpr std::uint16_t pages = 240;
    static constexpr std::uint32_t longest_packet = 65535; // the longest that a request can express

    // `page`: zeros. `memory`: the pages. `first_grant`: of the first page; those of the others follow it.
    void start(TransmitPage& page, std::uint8_t* memory, grant_ref_t first_grant);
    // Whether the back-end takes packets in several slots, of a page each (scatter-gather).
    void send_pieces(bool pieces) { longest_packet_ = pieces ? longest_packet : page_size; }

    // Room for a packet: at least `least` bytes. Empty: there is none. After give_up() there is always room.
    std::span<std::uint8_t> room(std::uint32_t least);
    // The packet has this size, in the room. False: it is lost.
    bool send(std::uint32_t bytes, const ethernet::Unfinished& left);
    // Called after some packets: whether the back-end wants a notification.
    bool push() { return ring_.push(); }
    // Announces a wait for room. False: there is room already.
    bool wait();
    // The back-end is gone.
    void give_up() { ring_.give_up(); }
    [[nodiscard]] bool is_broken() const { return ring_.is_broken(); }
    // The packets that the back-end reports as not sent.
    [[nodiscard]] std::uint64_t refused() const { return refused_; }

private:
    // By its first page.
    struct Packet {
        std::uint8_t pages;
        std::uint8_t unanswered; // slots without a response
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
    std::uint16_t next_ = 0; // the first page of the room
    std::uint32_t run_ = 0;  // free pages from there on, as far as they were counted
    Packet packets_[pages] = {};
    std::uint16_t first_of_[pages] = {}; // the first page of the packet that has this page
    bool is_used_[pages] = {};           // until all slots of its packet are answered
    bool is_sent_[pages] = {};           // until its slot is answered
    std::uint64_t refused_ = 0;
};

} // namespace previrt::xen
