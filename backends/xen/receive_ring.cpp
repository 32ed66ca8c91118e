// SPDX-License-Identifier: BSD-2-Clause
#include "backends/xen/receive_ring.hpp"

namespace previrt::xen {

void ReceiveRing::start(ReceivePage& page, std::uint8_t* memory, grant_ref_t first_grant) {
    ring_.start(page);
    memory_ = memory;
    first_grant_ = first_grant;
    for (std::uint16_t i = 0; i < pages; ++i) {
        post(i);
    }
}

void ReceiveRing::post(std::uint16_t page) {
    ring_.put({.id = page, .pad = 0, .gref = first_grant_ + page});
}

// A packet in one piece, as they come to who has not said that it takes others.
bool ReceiveRing::accept(const netif_rx_response& response) {
    const bool goes_on = (response.flags & NETRXF_more_data) != 0;
    const bool is_whole = !goes_on && !in_pieces_;
    in_pieces_ = goes_on;
    return is_whole && response.status > 0 && response.offset < page_size &&
           static_cast<std::uint16_t>(response.status) <= page_size - response.offset;
}

std::optional<std::span<const std::uint8_t>> ReceiveRing::next() {
    while (!first_) {
        const std::optional<netif_rx_response> response = ring_.take();
        if (!response) {
            return {};
        }
        // All pages are the other domain's as long as there is no first. Extra information would be in the
        // next response's place; it comes to who has asked for it.
        if (response->id >= pages || (response->flags & NETRXF_extra_info) != 0) {
            ring_.give_up();
            return {};
        }
        if (accept(*response)) {
            first_ = response;
        } else {
            ++refused_;
            post(response->id);
        }
    }
    return std::span<const std::uint8_t>(memory_ + (std::size_t{first_->id} * page_size) + first_->offset,
                                         static_cast<std::uint16_t>(first_->status));
}

void ReceiveRing::release() {
    if (first_) {
        post(first_->id);
        first_.reset();
    }
}

} // namespace previrt::xen
