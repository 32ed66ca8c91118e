// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/virtio/packet_host.hpp"
#include "tests/unit/devices/virtio/virtio_machine.hpp"

#include <cstdint>
#include <deque>
#include <span>
#include <stdexcept>
#include <vector>

namespace previrt {

// A device that exchanges packets with the host, RAM, the host's end, and the steps of a driver.
template <typename Device, std::uint32_t longest_packet>
class PacketMachine : public VirtioMachine<Device> {
public:
    using Packet = std::vector<std::uint8_t>;

    void kick(std::uint16_t queue) {
        this->set(notify, 2, queue);
        serve();
    }
    void serve() { this->device.serve(this->ram.memory(), host()); }
    virtio::PacketHost host() {
        return {.room = room, .send = send, .next = next_packet, .release = release, .context = this};
    }

    std::size_t room_for = 1000; // packets that the host takes
    std::vector<Packet> sent;    // to the host
    std::deque<Packet> for_guest;

private:
    static PacketMachine& self(void* context) { return *static_cast<PacketMachine*>(context); }
    static std::span<std::uint8_t> room(void* context, std::uint32_t bytes) {
        self(context).room_.assign(bytes, 0xee);
        return self(context).sent.size() < self(context).room_for ? std::span(self(context).room_)
                                                                  : std::span<std::uint8_t>();
    }
    static void send(void* context, std::uint32_t bytes) {
        const Packet& room = self(context).room_;
        if (bytes > room.size() || bytes > longest_packet) {
            throw std::logic_error("more than there was room for");
        }
        self(context).sent.emplace_back(room.begin(), room.begin() + bytes);
    }
    static std::span<const std::uint8_t> next_packet(void* context) {
        std::deque<Packet>& packets = self(context).for_guest;
        return packets.empty() ? std::span<const std::uint8_t>() : std::span(packets.front());
    }
    static void release(void* context) { self(context).for_guest.pop_front(); }

    Packet room_;
};

} // namespace previrt
