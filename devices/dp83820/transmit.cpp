// SPDX-License-Identifier: BSD-2-Clause
#include "devices/dp83820/checksums.hpp"
#include "devices/dp83820/dp83820.hpp"

#include <cstring>

namespace previrt {

using namespace dp83820;
using namespace ethernet;

namespace {

constexpr std::uint32_t kept_of_guest = cmdsts_more | cmdsts_intr | cmdsts_crc | cmdsts_size;

// Between the addresses and the type. The frame's last four bytes make room for it.
void insert_tag(std::span<std::uint8_t> frame, std::uint32_t tag) {
    std::memmove(&frame[addresses_bytes + tag_bytes], &frame[addresses_bytes],
                 frame.size() - addresses_bytes - tag_bytes);
    std::memcpy(&frame[addresses_bytes], &tag, tag_bytes);
}

} // namespace

void Dp83820::reset_transmitter(std::uint64_t now) {
    transmit_ring = {};
    packet = {};
    interrupts.raise(isr_txrcmp, now);
}

// An incomplete packet waits for its other descriptors, but not after a fault.
void Dp83820::stop_transmitter(DescriptorRing::Look why, std::uint64_t now) {
    if (why == DescriptorRing::Look::fault) {
        transmit_ring.stop(Engine::off);
        packet = {};
        ++statistics.bus_faults;
        interrupts.raise(isr_rmabt, now);
    } else {
        transmit_ring.stop(Engine::idle);
        interrupts.raise(isr_txidle, now);
    }
}

// Appends the bytes of one descriptor to the packet. False: not RAM.
bool Dp83820::gather(const GuestMemory& memory, const Descriptor& descriptor, std::uint8_t* to) {
    const std::uint32_t bytes = descriptor.cmdsts & cmdsts_size;
    packet.too_long = packet.too_long || bytes > packet_start.size() - packet.bytes;
    if (!packet.too_long && bytes > 0) {
        const std::uint8_t* const from = memory.to_read(descriptor.buffer, bytes);
        if (from == nullptr) {
            return false;
        }
        std::memcpy(to, from, bytes);
        packet.bytes += bytes;
    }
    packet.cmdsts |= descriptor.cmdsts;
    packet.extsts |= descriptor.extsts & extsts_checksums;
    if ((descriptor.extsts & extsts_vpkt) != 0) { // drivers set it in different descriptors
        packet.extsts = (packet.extsts & ~extsts_tci) | extsts_vpkt | (descriptor.extsts & extsts_tci);
    }
    return true;
}

// Takes one descriptor. Last: the packet is complete.
DescriptorRing::Look Dp83820::take_descriptor(const GuestMemory& memory, std::uint8_t* start, bool& last,
                                              std::uint64_t now) {
    Descriptor descriptor{};
    const DescriptorRing::Look look = transmit_ring.look(memory, format(), cmdsts_own, descriptor);
    if (look != DescriptorRing::Look::ready) {
        return look;
    }
    if (!gather(memory, descriptor, start + packet.bytes)) {
        return DescriptorRing::Look::fault;
    }
    const bool ends = (descriptor.cmdsts & cmdsts_more) == 0;
    if (ends) {
        packet.too_long = packet.too_long || packet.frame_bytes() > largest_packet;
    }
    const std::uint32_t result = packet.too_long ? cmdsts_tx_fifo_underrun : cmdsts_ok;
    const DescriptorRing::Look next =
        transmit_ring.finish(memory, format(), descriptor.link,
                             (descriptor.cmdsts & kept_of_guest) | (ends ? result : 0), std::nullopt);
    if (next != DescriptorRing::Look::fault) {
        last = ends;
        interrupts.raise((descriptor.cmdsts & cmdsts_intr) != 0 ? isr_txdesc : 0, now);
    }
    return next;
}

Dp83820::Transmitted Dp83820::transmit(const GuestMemory& memory, TransmitRoom room, SentChecksums checksums,
                                       std::uint64_t now) {
    std::uint8_t* const start = room.data();
    const std::uint32_t had = packet.bytes;
    std::memcpy(start, packet_start.data(), had);
    for (std::uint32_t budget = most_descriptors; budget > 0 && transmit_requested(); --budget) {
        bool last = false;
        const DescriptorRing::Look next = take_descriptor(memory, start, last, now);
        if (next != DescriptorRing::Look::ready) {
            stop_transmitter(next, now);
        }
        if (last) {
            return finish_packet(memory, room, checksums, now);
        }
    }
    if (packet.bytes > had) {
        std::memcpy(packet_start.data() + had, start + had, packet.bytes - had);
    }
    return {.outcome = transmit_requested() ? Outcome::consumed : Outcome::idle, .frame = {}, .left = {}};
}

bool Dp83820::has_own_tag() const {
    return (stored[at::vtcr] & vtcr_vppti) != 0 && (packet.extsts & extsts_vpkt) != 0;
}

bool Dp83820::inserts_tag() const {
    return has_own_tag() || (stored[at::vtcr] & vtcr_vgti) != 0;
}

Unfinished Dp83820::do_checksums(std::span<std::uint8_t> frame, SentChecksums checksums) const {
    const std::uint32_t vtcr = stored[at::vtcr];
    const std::uint32_t per_packet = (vtcr & vtcr_ppchk) != 0 ? packet.extsts & extsts_checksums : 0;
    const std::uint32_t wanted = (vtcr & vtcr_gchk) != 0 ? extsts_checksums : per_packet;
    return wanted == 0 ? Unfinished{}
                       : fill_checksums(frame, wanted, checksums == SentChecksums::left && !inserts_tag());
}

// Adds tag and padding, as the guest asked for them.
std::span<std::uint8_t> Dp83820::complete(std::span<std::uint8_t> frame, TransmitRoom room) const {
    if (inserts_tag() && frame.size() >= header_bytes) {
        const std::uint32_t vdr = stored[at::vdr];
        const std::uint32_t tci = has_own_tag() ? packet.extsts & extsts_tci : vdr >> 16U;
        frame = room.first(frame.size() + tag_bytes);
        insert_tag(frame, (vdr & 0xffffU) | (tci << 16U));
    }
    if ((stored[at::txcfg] & txcfg_atp) != 0 && frame.size() < shortest_frame) {
        const std::size_t bytes = frame.size();
        frame = std::span(frame.data(), shortest_frame);
        std::memset(frame.data() + bytes, 0, shortest_frame - bytes);
    }
    return frame;
}

Dp83820::Transmitted Dp83820::finish_packet(const GuestMemory& memory, TransmitRoom room,
                                            SentChecksums checksums, std::uint64_t now) {
    if (packet.too_long) {
        packet = {};
        ++statistics.unsent_too_long;
        interrupts.raise(isr_txerr | isr_txurn, now);
        return {.outcome = Outcome::consumed, .frame = {}, .left = {}};
    }
    const std::span<std::uint8_t> given = room.first(packet.frame_bytes());
    const Unfinished left = do_checksums(given, loops_back() ? SentChecksums::complete : checksums);
    const std::span<std::uint8_t> frame = complete(given, room);
    packet = {};
    interrupts.raise(isr_txok, now);
    if (frame.size() < header_bytes) {
        ++statistics.unsent_too_short;
        return {.outcome = Outcome::consumed, .frame = {}, .left = {}};
    }
    if (loops_back()) {
        ++statistics.looped_frames;
        take_in(memory, frame, Checksums::unverified, now);
        return {.outcome = Outcome::consumed, .frame = {}, .left = {}};
    }
    if (!link()) {
        ++statistics.unsent_link_down;
        return {.outcome = Outcome::consumed, .frame = {}, .left = {}};
    }
    ++statistics.sent_frames;
    statistics.sent_bytes += frame.size();
    return {.outcome = Outcome::frame, .frame = frame, .left = left};
}

} // namespace previrt
