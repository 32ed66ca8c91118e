// SPDX-License-Identifier: BSD-2-Clause
#include "backends/xen/transmit_ring.hpp"

#include <algorithm>
#include <cstring>

namespace previrt::xen {

namespace {

// The joiner needs room for one candidate segment past the end.
constexpr std::uint32_t most_room_pages = (TransmitRing::longest_packet / page_size) + 4;
constexpr std::uint16_t none = TransmitRing::pages;

std::uint32_t pages_of(std::uint32_t bytes) {
    return static_cast<std::uint32_t>((bytes / page_size) + (bytes % page_size != 0 ? 1 : 0));
}

// In the form of a request's slot.
netif_tx_request segment_information(const ethernet::Unfinished& left) {
    netif_extra_info extra{};
    extra.type = XEN_NETIF_EXTRA_TYPE_GSO;
    extra.u.gso.size = left.segment_bytes;
    extra.u.gso.type = XEN_NETIF_GSO_TYPE_TCPV4;
    netif_tx_request slot{};
    std::memcpy(&slot, &extra, sizeof(extra));
    return slot;
}

} // namespace

void TransmitRing::start(TransmitPage& page, std::uint8_t* memory, grant_ref_t first_grant) {
    ring_.start(page);
    memory_ = memory;
    first_grant_ = first_grant;
}

void TransmitRing::free(std::uint16_t first) {
    Packet& packet = packets_[first];
    refused_ += packet.is_refused ? 1 : 0;
    std::fill_n(is_used_ + first, packet.pages, false);
    packet = {};
}

void TransmitRing::collect() {
    while (const std::optional<netif_tx_response> response = ring_.take()) {
        if (response->status == NETIF_RSP_NULL) { // the slot after one with extra information
            continue;
        }
        if (response->id >= pages || !is_sent_[response->id]) {
            ring_.give_up();
            return;
        }
        is_sent_[response->id] = false;
        const std::uint16_t first = first_of_[response->id];
        Packet& packet = packets_[first];
        packet.is_refused = packet.is_refused || response->status != NETIF_RSP_OKAY;
        if (--packet.unanswered == 0) {
            free(first);
        }
    }
}

std::uint16_t TransmitRing::find(std::uint32_t count) const {
    std::uint32_t run = 0;
    for (std::uint16_t page = 0; page < pages; ++page) {
        run = is_used_[page] ? 0 : run + 1;
        if (run == count) {
            return static_cast<std::uint16_t>(page + 1 - count);
        }
    }
    return none;
}

// For which there are requests, with one for extra information.
std::uint32_t TransmitRing::most_pages() const {
    const std::uint32_t requests = TransmitPage::size - ring_.outstanding();
    return requests == 0 ? 0 : std::min(requests - 1, most_room_pages);
}

// Most packets are answered in order. A packet without an answer does not stop the others for long.
void TransmitRing::go_on(std::uint32_t count) {
    if (std::uint32_t{pages} - next_ < count) {
        next_ = 0;
        run_ = 0;
    }
    if (!fits(count) && ring_.outstanding() <= pages / 2) {
        next_ = find(count);
        run_ = 0;
    }
}

// Each page is checked once before it is used.
bool TransmitRing::fits(std::uint32_t count) {
    while (run_ < most_room_pages && next_ + run_ < pages && !is_used_[next_ + run_]) {
        ++run_;
    }
    return count <= std::min(run_, most_pages());
}

std::span<std::uint8_t> TransmitRing::room(std::uint32_t least) {
    const std::uint32_t needed = pages_of(least);
    if (needed > most_room_pages) {
        return {};
    }
    bool has_room = fits(needed);
    if (!has_room) {
        collect();
        go_on(needed);
        has_room = fits(needed);
    }
    if (is_broken()) {
        return {memory_, most_room_pages * page_size};
    }
    if (!has_room) {
        return {};
    }
    return {memory_ + (next_ * page_size), std::min(run_, most_pages()) * page_size};
}

bool TransmitRing::send(std::uint32_t bytes, const ethernet::Unfinished& left) {
    if (is_broken() || bytes > longest_packet_) {
        return false;
    }
    const std::uint16_t first = next_;
    const auto count = static_cast<std::uint8_t>(pages_of(bytes));
    const unsigned checksum = left.checksum_start != 0 ? NETTXF_csum_blank | NETTXF_data_validated : 0U;
    const unsigned extra = left.segment_bytes != 0 ? NETTXF_extra_info : 0U;
    unsigned flags = checksum | extra;
    std::uint32_t size = bytes; // the first slot gives the size of the whole packet
    for (std::uint32_t rest = bytes; rest != 0; ++next_) {
        const std::uint32_t piece = std::min<std::uint32_t>(rest, page_size);
        rest -= piece;
        is_used_[next_] = true;
        --run_;
        is_sent_[next_] = true;
        first_of_[next_] = first;
        ring_.put({.gref = first_grant_ + next_,
                   .offset = 0,
                   .flags = static_cast<std::uint16_t>(flags | (rest != 0 ? NETTXF_more_data : 0U)),
                   .id = next_,
                   .size = static_cast<std::uint16_t>(size)});
        if ((flags & NETTXF_extra_info) != 0) {
            ring_.put(segment_information(left));
        }
        flags = 0;
        size = std::min<std::uint32_t>(rest, page_size);
    }
    packets_[first] = {.pages = count, .unanswered = count, .is_refused = false};
    return true;
}

bool TransmitRing::wait() {
    // One notification for many packets.
    return ring_.wait((ring_.outstanding() + 1) / 2);
}

} // namespace previrt::xen
