// SPDX-License-Identifier: BSD-2-Clause
#include "backends/xen/transmit_ring.hpp"

namespace previrt::xen {

void TransmitRing::start(TransmitPage& page, std::uint8_t* memory, grant_ref_t first_grant) {
    ring_.start(page);
    memory_ = memory;
    first_grant_ = first_grant;
    for (std::uint16_t room = 0; room < rooms; ++room) {
        free_[free_count_++] = room;
    }
}

void TransmitRing::collect() {
    while (const std::optional<netif_tx_response> response = ring_.take()) {
        if (response->id >= rooms || !is_sent_[response->id]) {
            ring_.give_up();
            return;
        }
        is_sent_[response->id] = false;
        free_[free_count_++] = response->id;
        refused_ += response->status != NETIF_RSP_OKAY ? 1 : 0;
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
    if (is_broken() || bytes > longest_packet) {
        return false;
    }
    const std::uint16_t room = free_[--free_count_];
    is_sent_[room] = true;
    ring_.put({.gref = first_grant_ + room,
               .offset = 0,
               .flags = 0,
               .id = room,
               .size = static_cast<std::uint16_t>(bytes)});
    return true;
}

bool TransmitRing::wait() {
    // One notification for many rooms.
    return ring_.wait((ring_.outstanding() + 1) / 2);
}

} // namespace previrt::xen
