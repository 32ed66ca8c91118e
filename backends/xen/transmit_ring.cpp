// SPDX-License-Identifier: BSD-2-Clause
#include "backends/xen/transmit_ring.hpp"

#include <algorithm>

namespace previrt::xen {

void TransmitRing::start(TransmitPage& page, std::uint8_t* memory, grant_ref_t first_grant) {
    ring_.start(page);
    memory_ = memory;
    first_grant_ = first_grant;
    for (std::uint16_t room = 0; room < rooms; ++room) {
        free_[free_count_++] = room;
    }
}

void TransmitRing::free(std::uint16_t room) {
    refused_ += rooms_[room].is_refused ? 1 : 0;
    rooms_[room].is_refused = false;
    free_[free_count_++] = room;
}

void TransmitRing::collect() {
    while (const std::optional<netif_tx_response> response = ring_.take()) {
        if (response->id >= pages || !is_sent_[response->id]) {
            ring_.give_up();
            return;
        }
        is_sent_[response->id] = false;
        const auto number = static_cast<std::uint16_t>(response->id / room_pages);
        Room& room = rooms_[number];
        room.is_refused = room.is_refused || response->status != NETIF_RSP_OKAY;
        if (--room.unanswered == 0) {
            free(number);
        }
    }
}

std::uint8_t* TransmitRing::room(std::uint32_t bytes) {
    if (bytes > room_bytes) {
        return nullptr;
    }
    if (free_count_ == 0) {
        collect();
    }
    if (is_broken()) {
        return memory_;
    }
    return free_count_ != 0 ? memory_ + (std::size_t{free_[free_count_ - 1]} * room_bytes) : nullptr;
}

bool TransmitRing::send(std::uint32_t bytes) {
    if (is_broken() || bytes > longest_packet_) {
        return false;
    }
    const std::uint16_t room = free_[--free_count_];
    auto page = static_cast<std::uint16_t>(room * room_pages);
    std::uint32_t size = bytes; // the first piece says that of all
    for (std::uint32_t left = bytes; left != 0; ++page) {
        const std::uint32_t piece = std::min<std::uint32_t>(left, page_size);
        left -= piece;
        is_sent_[page] = true;
        ++rooms_[room].unanswered;
        ring_.put({.gref = first_grant_ + page,
                   .offset = 0,
                   .flags = static_cast<std::uint16_t>(left != 0 ? NETTXF_more_data : 0),
                   .id = page,
                   .size = static_cast<std::uint16_t>(size)});
        size = std::min<std::uint32_t>(left, page_size);
    }
    return true;
}

bool TransmitRing::wait() {
    // One notification for many rooms.
    return ring_.wait((ring_.outstanding() + 1) / 2);
}

} // namespace previrt::xen
