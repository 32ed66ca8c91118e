// SPDX-License-Identifier: BSD-2-Clause
#include "backends/xen/receive_ring.hpp"

#include <cstring>

namespace previrt::xen {

namespace {

// The part of a packet's first response that describes the whole packet.
backend::ReceivedPacket describe(const netif_rx_response& response) {
    return {.bytes = {},
            .segment_bytes = 0,
            .lacks_checksum = (response.flags & NETRXF_csum_blank) != 0,
            .is_verified = (response.flags & NETRXF_data_validated) != 0};
}

} // namespace

void ReceiveRing::start(ReceivePage& page, std::uint8_t* memory, grant_ref_t first_grant) {
    ring_.start(page);
    memory_ = memory;
    first_grant_ = first_grant;
    for (std::uint16_t i = 0; i < pages; ++i) {
        post(i);
    }
}

void ReceiveRing::post(std::uint16_t page) {
    posted_[ring_.request_slot()] = page;
    ring_.put({.id = page, .pad = 0, .gref = first_grant_ + page});
}

// The part of a page that a response names. Empty: the response is invalid.
std::span<std::uint8_t> ReceiveRing::part_of(const netif_rx_response& response) const {
    const bool is_right = response.status > 0 && response.offset < page_size &&
                          static_cast<std::uint16_t>(response.status) <= page_size - response.offset;
    return is_right
               ? std::span<std::uint8_t>(memory_ + (std::size_t{response.id} * page_size) + response.offset,
                                         static_cast<std::uint16_t>(response.status))
               : std::span<std::uint8_t>();
}

void ReceiveRing::accept(const netif_rx_response& response) {
    const std::span<std::uint8_t> packet = part_of(response);
    if (packet.empty()) {
        ++refused_;
        post(response.id);
        return;
    }
    first_ = describe(response);
    first_->bytes = packet;
    page_of_first_ = response.id;
}

void ReceiveRing::accept_piece(const netif_rx_response& response) {
    std::uint8_t* const whole = memory_ + (std::size_t{pages} * page_size);
    const std::span<const std::uint8_t> piece = part_of(response);
    if (!piece_follows_) {
        pieces_ = describe(response);
        extra_follows_ = (response.flags & NETRXF_extra_info) != 0;
    }
    is_refused_ = is_refused_ || piece.empty() || piece.size() > longest_packet - pieces_bytes_;
    if (!is_refused_) {
        std::memcpy(whole + pieces_bytes_, piece.data(), piece.size());
        pieces_bytes_ += static_cast<std::uint32_t>(piece.size());
    }
    post(response.id);
    piece_follows_ = (response.flags & NETRXF_more_data) != 0;
    end_pieces();
}

// It takes a response's place; the page of that slot's request has not been used.
void ReceiveRing::accept_extra(const netif_rx_response& slot) {
    netif_extra_info extra{};
    std::memcpy(&extra, &slot, sizeof(extra));
    if (extra.type == XEN_NETIF_EXTRA_TYPE_GSO) {
        is_refused_ = is_refused_ || extra.u.gso.type != XEN_NETIF_GSO_TYPE_TCPV4;
        pieces_.segment_bytes = extra.u.gso.size;
    }
    post(posted_[ring_.response_slot()]);
    extra_follows_ = (extra.flags & XEN_NETIF_EXTRA_FLAG_MORE) != 0;
    end_pieces();
}

void ReceiveRing::end_pieces() {
    if (piece_follows_ || extra_follows_) {
        return;
    }
    if (is_refused_) {
        ++refused_;
    } else {
        first_ = pieces_;
        first_->bytes = {memory_ + (std::size_t{pages} * page_size), pieces_bytes_};
    }
    is_refused_ = false;
    pieces_bytes_ = 0;
}

std::optional<backend::ReceivedPacket> ReceiveRing::next() {
    while (!first_) {
        const std::optional<netif_rx_response> response = ring_.take();
        if (!response) {
            return {};
        }
        // While no packet is held, the other domain has all pages.
        if (extra_follows_) {
            accept_extra(*response);
        } else if (response->id >= pages) {
            ring_.give_up();
        } else if (piece_follows_ || (response->flags & (NETRXF_more_data | NETRXF_extra_info)) != 0) {
            accept_piece(*response);
        } else {
            accept(*response);
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
