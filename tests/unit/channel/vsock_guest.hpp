// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/contract/packet_ring.hpp"
#include "devices/virtio_vsock/packet.hpp"
#include "monitor/channel/guest_stream.hpp"

#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace previrt {

// The guest's side of the rings to the monitor, and of its streams.
class VsockGuestTest : public testing::Test {
protected:
    static constexpr std::uint64_t guest = 3;
    static constexpr std::uint32_t guests_port = 5000;

    struct Packet {
        vsock::Header header;
        std::string payload;
    };

    static vsock::Header header(vsock::Operation operation, std::uint32_t to) {
        return {.src_cid = guest,
                .dst_cid = vsock::host_cid,
                .src_port = guests_port,
                .dst_port = to,
                .len = 0,
                .type = vsock::type_stream,
                .op = operation,
                .flags = 0,
                .buf_alloc = 1000,
                .fwd_cnt = 0};
    }
    void put(vsock::Header header, const std::string& payload = {}) {
        header.len = static_cast<std::uint32_t>(payload.size());
        put_as_it_is(header, payload);
    }
    void put_as_it_is(const vsock::Header& header, const std::string& payload) {
        const auto bytes = static_cast<std::uint32_t>(sizeof header + payload.size());
        const std::span<std::uint8_t> room = writer_.reserve(bytes);
        ASSERT_FALSE(room.empty());
        std::memcpy(room.data(), &header, sizeof header);
        std::memcpy(room.data() + sizeof header, payload.data(), payload.size());
        writer_.commit(bytes);
    }
    std::optional<Packet> take() {
        const auto packet = reader_.next();
        if (!packet) {
            return {};
        }
        Packet taken{};
        std::memcpy(&taken.header, packet->bytes.data(), sizeof taken.header);
        taken.payload.assign(packet->bytes.begin() + sizeof taken.header, packet->bytes.end());
        EXPECT_EQ(taken.header.len, taken.payload.size());
        EXPECT_EQ(taken.header.src_cid, vsock::host_cid);
        EXPECT_EQ(taken.header.dst_cid, guest);
        reader_.release();
        return taken;
    }

    std::unique_ptr<monitored::PacketRing> to_host_ = std::make_unique<monitored::PacketRing>();
    std::unique_ptr<monitored::PacketRing> to_guest_ = std::make_unique<monitored::PacketRing>();
    monitored::PacketWriter writer_{*to_host_};
    monitored::PacketReader reader_{*to_guest_};
};

} // namespace previrt
