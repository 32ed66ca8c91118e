// SPDX-License-Identifier: BSD-2-Clause
// A driver that means no good, and changes its packets while the device reads them: the device reaches
// nothing but RAM, every call ends, and the host gets whole packets.
#include "tests/unit/devices/virtio/hostile_packets.hpp"
#include "tests/unit/devices/virtio/vsock_machine.hpp"

#include <gtest/gtest.h>

namespace previrt {
namespace {

class HostileVsock final : public HostilePackets<VsockMachine> {
public:
    explicit HostileVsock(std::uint64_t seed) : HostilePackets(seed, most_accesses) {}

private:
    // Each chain has at most `entries` buffers, which are described and then used, in pieces.
    static constexpr std::uint64_t most_accesses = 8 * std::uint64_t{VsockMachine::entries} * 64;

    void write_message() override {
        constexpr std::uint32_t lengths[] = {0, 1, 100, 4052, 65'536, 65'537, 0xffff'ffff};
        vsock::Header front = header(lengths[choose(std::size(lengths))]);
        front.op = static_cast<std::uint16_t>(choose(9));
        store((choose(50) + 8) * page, Packet(reinterpret_cast<const std::uint8_t*>(&front),
                                              reinterpret_cast<const std::uint8_t*>(&front + 1)));
    }

    Packet make_packet() override { return packet(choose(3) * choose(9000)); }

    void check(const Packet& packet) override {
        EXPECT_EQ(header_of(packet).len, packet.size() - vsock::header_bytes);
    }
};

TEST(HostileVsockDriver, ReachesNothingButRam) {
    expect_that_it_gets_far<HostileVsock>();
}

} // namespace
} // namespace previrt
