// SPDX-License-Identifier: BSD-2-Clause
// Puts received frames into the guest's descriptors, or into the FIFO in front of them.
#include "devices/dp83820/dp83820.hpp"

#include <algorithm>

namespace previrt {

using namespace dp83820;

namespace {

constexpr std::uint32_t chip_owns = 0; // the opposite of transmit descriptors
constexpr std::uint32_t kept_of_guest = cmdsts_intr | cmdsts_crc;

} // namespace

void Dp83820::reset_receiver(std::uint64_t now) {
    receive_ring = {};
    while (!fifo.empty()) {
        fifo.pop();
        ++statistics.lost_flushed;
    }
    interrupts.raise(isr_rxrcmp, now);
}

void Dp83820::stop_receiver(DescriptorRing::Look why, std::uint64_t now) {
    if (why == DescriptorRing::Look::fault) {
        receive_ring.stop(Engine::off);
        ++statistics.bus_faults;
        interrupts.raise(isr_rmabt, now);
    } else {
        receive_ring.stop(Engine::idle);
        interrupts.raise(isr_rxidle, now);
    }
}

// Fills one descriptor. Last: the frame is complete.
DescriptorRing::Look Dp83820::give_descriptor(const GuestMemory& memory, const Arrival& arrival,
                                              std::uint32_t& placed, bool& last, std::uint64_t now) {
    Descriptor descriptor{};
    const DescriptorRing::Look look = receive_ring.look(memory, format(), chip_owns, descriptor);
    if (look != DescriptorRing::Look::ready) {
        return look;
    }
    const std::uint32_t bytes = std::min(descriptor.cmdsts & cmdsts_size, arrival.pieces.bytes - placed);
    if (bytes > 0) {
        std::uint8_t* const to = memory.to_write(descriptor.buffer, bytes);
        if (to == nullptr) {
            return DescriptorRing::Look::fault;
        }
        arrival.pieces.copy(placed, to, bytes);
    }
    const bool ends = placed + bytes == arrival.pieces.bytes;
    const std::uint32_t cmdsts = cmdsts_own | (descriptor.cmdsts & kept_of_guest) | bytes |
                                 (ends ? arrival.status.cmdsts : cmdsts_more);
    const DescriptorRing::Look next =
        receive_ring.finish(memory, format(), descriptor.link, cmdsts,
                            ends ? std::optional(arrival.status.extsts) : std::nullopt);
    if (next != DescriptorRing::Look::fault) {
        placed += bytes;
        last = ends;
        interrupts.raise((descriptor.cmdsts & cmdsts_intr) != 0 ? isr_rxdesc : 0, now);
    }
    return next;
}

Dp83820::Placed Dp83820::place(const GuestMemory& memory, const Arrival& arrival, std::uint32_t& placed,
                               std::uint32_t& budget, std::uint64_t now) {
    for (; budget > 0 && receive_ring.engine == Engine::active; --budget) {
        bool last = false;
        const DescriptorRing::Look next = give_descriptor(memory, arrival, placed, last, now);
        if (next != DescriptorRing::Look::ready) {
            stop_receiver(next, now);
        }
        if (next == DescriptorRing::Look::fault) {
            return Placed::lost;
        }
        if (last) {
            const bool good = (arrival.status.cmdsts & cmdsts_ok) != 0;
            interrupts.raise(good ? isr_rxok : isr_rxerr, now);
            ++statistics.received_frames;
            statistics.received_bytes += arrival.pieces.bytes;
            statistics.received_errors += good ? 0 : 1;
            return Placed::whole;
        }
    }
    return Placed::partly;
}

// The chip reads the next descriptor without waiting for a frame, so that the guest learns early that it is
// the last one.
void Dp83820::look_ahead(const GuestMemory& memory, std::uint64_t now) {
    if (receive_ring.engine == Engine::active) {
        Descriptor descriptor{};
        const DescriptorRing::Look look = receive_ring.look(memory, format(), chip_owns, descriptor);
        if (look != DescriptorRing::Look::ready) {
            stop_receiver(look, now);
        }
    }
}

bool Dp83820::store(const GuestMemory& memory, const Arrival& arrival, std::uint64_t now) {
    std::uint32_t placed = 0;
    if (receive_ring.engine == Engine::active && fifo.empty()) {
        receive_ring.requested = false;
        std::uint32_t budget = most_descriptors;
        switch (place(memory, arrival, placed, budget, now)) {
        case Placed::whole:
            look_ahead(memory, now);
            return true;
        case Placed::lost:
            return false;
        case Placed::partly:
            receive_ring.requested = receive_ring.engine == Engine::active;
            break;
        }
    }
    if (!fifo.has_room(arrival.pieces.bytes)) {
        ++statistics.lost_no_room;
        count(Counter::missed, now);
        count(Counter::receive_errors, now);
        interrupts.raise(isr_rxorn | isr_rxsovr, now);
        return false;
    }
    fifo.push(arrival.pieces, arrival.status, placed);
    ++statistics.waited_frames;
    return true;
}

void Dp83820::serve_receiver(const GuestMemory& memory, std::uint64_t now) {
    receive_ring.requested = false;
    std::uint32_t budget = most_descriptors;
    while (!fifo.empty() && receive_ring.engine == Engine::active) {
        const Arrival arrival{.pieces = fifo.front_frame(), .status = fifo.front_status()};
        const Placed result = place(memory, arrival, fifo.placed, budget, now);
        if (result == Placed::partly) {
            receive_ring.requested = receive_ring.engine == Engine::active;
            return;
        }
        fifo.pop();
    }
    look_ahead(memory, now);
}

} // namespace previrt
