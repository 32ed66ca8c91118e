// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/virtio_console/virtio_console.hpp"
#include "tests/unit/devices/virtio/packet_machine.hpp"

#include <cstdint>
#include <cstring>
#include <string>

namespace previrt {

// A console device with a console and a port, RAM, the host's end, and the steps of a driver.
class ConsoleMachine : public PacketMachine<VirtioConsole, console_port::longest_packet> {
public:
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
};

} // namespace previrt
