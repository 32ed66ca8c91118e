// SPDX-License-Identifier: BSD-2-Clause
#include "backends/xen/receive_ring.hpp"

#include <cstring>

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

// Of a page, what a response says that it is. Empty: nothing that can be.
std::span<const std::uint8_t> ReceiveRing::part_of(const netif_rx_response& response) const {
    const bool is_right = response.status > 0 && response.offset < page_size &&
                          static_cast<std::uint16_t>(response.status) <= page_size - response.offset;
    return is_right ? std::span<const std::uint8_t>(memory_ + (std::size_t{response.id} * page_size) +
                                                        response.offset,
                                                    static_cast<std::uint16_t>(response.status))
                    : std::span<const std::uint8_t>();
}

void ReceiveRing::accept(std::uint16_t page, std::span<const std::uint8_t> packet) {
    if (packet.empty()) {
        ++refused_;
        post(page);
        return;
    }
    first_ = packet;
    page_of_first_ = page;
}

void ReceiveRing::accept_piece(std::uint16_t page, std::span<const std::uint8_t> piece, bool is_last) {
    std::uint8_t* const whole = memory_ + (std::size_t{pages} * page_size);
    piece_is_refused_ = piece_is_refused_ || piece.empty() || piece.size() > longest_packet - pieces_bytes_;
    if (!piece_is_refused_) {
        std::memcpy(whole + pieces_bytes_, piece.data(), piece.size());
        pieces_bytes_ += static_cast<std::uint32_t>(piece.size());
    }
    post(page);
    in_pieces_ = !is_last;
    if (is_last) {
        if (piece_is_refused_) {
            ++refused_;
        } else {
            first_ = std::span<const std::uint8_t>(whole, pieces_bytes_);
        }
        piece_is_refused_ = false;
        pieces_bytes_ = 0;
    }
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
        const bool goes_on = (response->flags & NETRXF_more_data) != 0;
        if (goes_on || in_pieces_) {
            accept_piece(response->id, part_of(*response), !goes_on);
        } else {
            accept(response->id, part_of(*response));
        }
    }
    return first_;
}

void ReceiveRing::release() {
    if (page_of_first_) {
        post(*page_of_first_);
        page_of_first_.reset();
    }
    first_.reset();
}

} // namespace previrt::xen
