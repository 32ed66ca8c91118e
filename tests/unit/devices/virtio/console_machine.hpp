// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/virtio_console/virtio_console.hpp"
#include "tests/unit/devices/virtio/virtio_machine.hpp"

#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace previrt {

// A console device with a console and a port, RAM, the host's end, and the steps of a driver.
class ConsoleMachine : public VirtioMachine<VirtioConsole> {
public:
    using Packet = std::vector<std::uint8_t>;

    enum Queue : std::uint16_t {
        console_receive_queue,
        console_transmit_queue,
        control_receive_queue,
        control_transmit_queue,
        port_receive_queue,
        port_transmit_queue
    };
    static constexpr std::uint16_t linux_queues = 6; // of sixteen
    static constexpr std::uint64_t multiport = 2;
    static constexpr std::uint64_t all_features = multiport | indirect_tables | version_1;

    ConsoleMachine() {
        console.start();
        console.insert(0, "");
        console.insert(1, "a port");
    }

    void start(std::uint64_t features = all_features) {
        accept(features);
        for (std::uint16_t number = 0; number < linux_queues; ++number) {
            enable_queue(number);
        }
        set(device_status, 1, 15);
    }
    void kick(std::uint16_t queue) {
        set(notify, 2, queue);
        serve();
    }
    void serve() { console.serve(ram.memory(), host()); }
    ConsoleHost host() {
        return {.room = room, .send = send, .next = next_packet, .release = release, .context = this};
    }

    static Packet packet(std::uint32_t port, console_port::Event event, const std::string& bytes = {}) {
        const console_port::Header header{.port = port, .event = event};
        Packet made(sizeof header + bytes.size());
        std::memcpy(made.data(), &header, sizeof header);
        std::memcpy(made.data() + sizeof header, bytes.data(), bytes.size());
        return made;
    }
    static console_port::Header header_of(const Packet& packet) {
        console_port::Header header{};
        std::memcpy(&header, packet.data(), sizeof header);
        return header;
    }

    VirtioConsole& console = device;
    std::size_t room_for = 1000; // packets that the host takes
    std::vector<Packet> sent;    // to the host
    std::deque<Packet> for_guest;

private:
    static std::span<std::uint8_t> room(void* context, std::uint32_t bytes) {
        ConsoleMachine& self = *static_cast<ConsoleMachine*>(context);
        self.room_.assign(bytes, 0xee);
        return self.sent.size() < self.room_for ? std::span(self.room_) : std::span<std::uint8_t>();
    }
    static void send(void* context, std::uint32_t bytes) {
        ConsoleMachine& self = *static_cast<ConsoleMachine*>(context);
        if (bytes > self.room_.size() || bytes > console_port::longest_packet) {
            throw std::logic_error("more than there was room for");
        }
        self.sent.emplace_back(self.room_.begin(), self.room_.begin() + bytes);
    }
    static std::span<const std::uint8_t> next_packet(void* context) {
        ConsoleMachine& self = *static_cast<ConsoleMachine*>(context);
        return self.for_guest.empty() ? std::span<const std::uint8_t>() : std::span(self.for_guest.front());
    }
    static void release(void* context) { static_cast<ConsoleMachine*>(context)->for_guest.pop_front(); }

    Packet room_;
};

} // namespace previrt
