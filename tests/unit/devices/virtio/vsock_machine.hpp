// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/virtio_vsock/virtio_vsock.hpp"
#include "tests/unit/devices/virtio/packet_machine.hpp"

#include <cstdint>
#include <cstring>
#include <span>

namespace previrt {

// A vsock device, RAM, the host's end, and the steps of a driver.
class VsockMachine : public PacketMachine<VirtioVsock, vsock::longest_packet> {
public:
    enum Queue : std::uint16_t { receive_queue, transmit_queue, event_queue };
    static constexpr std::uint64_t guest_cid = 0x1'0000'0003; // Linux takes 32 bits of it
    static constexpr std::uint64_t stream = 1;
    static constexpr std::uint64_t all_features = stream | indirect_tables | version_1;

    VsockMachine() { vsock.start(guest_cid); }

    void start(std::uint64_t features = all_features) { VirtioMachine::start(features); }

    static vsock::Header header(std::uint32_t len) {
        return {.src_cid = 3,
                .dst_cid = vsock::host_cid,
                .src_port = 1024,
                .dst_port = 7,
                .len = len,
                .type = vsock::type_stream,
                .op = vsock::op_rw,
                .flags = 0,
                .buf_alloc = 1 << 18,
                .fwd_cnt = 9};
    }
    static Packet packet(std::uint32_t payload) {
        const vsock::Header front = header(payload);
        Packet made(sizeof front + payload);
        std::memcpy(made.data(), &front, sizeof front);
        for (std::uint32_t i = 0; i < payload; ++i) {
            made[sizeof front + i] = static_cast<std::uint8_t>((i * 7) + (i / 256));
        }
        return made;
    }
    static vsock::Header header_of(std::span<const std::uint8_t> bytes) {
        vsock::Header front{};
        std::memcpy(&front, bytes.data(), sizeof front);
        return front;
    }
    Packet load(std::uint64_t address, std::size_t bytes) {
        const std::uint8_t* const first = ram.at(address, bytes);
        return {first, first + bytes};
    }
    void store(std::uint64_t address, const Packet& bytes) {
        std::memcpy(ram.at(address, bytes.size()), bytes.data(), bytes.size());
    }

    VirtioVsock& vsock = device;
};

} // namespace previrt
