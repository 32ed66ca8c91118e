// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/network.hpp"

#include "frontends/x86/machine.hpp"
#include "frontends/x86/physical_memory.hpp"
#include "frontends/x86/shadow_tables.hpp"
#include "inplace-vmm/backend.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/stop.hpp"

namespace previrt {

namespace {

std::uint8_t* reach(void* /*context*/, std::uint64_t address, std::uint64_t bytes,
                    GuestMemory::Access access) {
    std::uint8_t* const memory = physical_memory(address, bytes);
    if (memory != nullptr && access == GuestMemory::Access::write) {
        for (std::uint64_t page = address & ~(page_bytes - 1); page < address + bytes; page += page_bytes) {
            shadow_before_write(page);
        }
    }
    return memory;
}

constexpr GuestMemory guest_memory{.reach = reach, .context = nullptr};

void send_packets(std::uint64_t now) {
    while (pc.network.transmit_requested()) {
        std::uint8_t* const room = backend::packet_room(Dp83820::transmit_room);
        if (room == nullptr) {
            return;
        }
        const Dp83820::Transmitted sent =
            pc.network.transmit(guest_memory, Dp83820::TransmitRoom(room, Dp83820::transmit_room), now);
        if (sent.outcome == Dp83820::Outcome::frame) {
            ++counters.packets_sent;
            backend::send_packet(static_cast<std::uint32_t>(sent.frame.size()));
        }
    }
}

// What the card has no room for stays with the back-end, whose sender waits.
void receive_packets(std::uint64_t now) {
    if (pc.network.receive_requested()) {
        pc.network.serve_receiver(guest_memory, now);
    }
    while (const std::optional<std::span<const std::uint8_t>> packet = backend::received_packet()) {
        if (!pc.network.can_receive(static_cast<std::uint32_t>(packet->size()))) {
            return;
        }
        ++counters.packets_received;
        pc.network.receive(guest_memory, *packet, Dp83820::Checksums::unverified, now);
        backend::release_packet();
    }
}

void follow_link(std::uint64_t now) {
    if (pc.network.link() != backend::network_is_up()) {
        pc.network.set_link(backend::network_is_up(), now);
    }
}

void drop_received() {
    while (backend::received_packet()) {
        backend::release_packet();
    }
}

} // namespace

void insert_network_card() {
    const std::optional<backend::NetworkAddress> address = backend::network_address();
    if (!address) {
        return;
    }
    if (backend::guest_ram_bytes() > Pc::network_memory) {
        stop_guest("a network card has its registers where this guest has RAM, at", Pc::network_memory);
    }
    pc.insert_network_card(*address);
}

void move_packets(std::uint64_t now) {
    if (!pc.has_network) {
        return;
    }
    follow_link(now);
    if (pc.network_masters_bus()) {
        send_packets(now);
        receive_packets(now);
    } else {
        drop_received();
    }
    pc.update_network_line(now);
    backend::notify_packets();
}

} // namespace previrt
