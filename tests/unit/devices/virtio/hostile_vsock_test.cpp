// SPDX-License-Identifier: BSD-2-Clause
// A driver that means no good, and changes its packets while the device reads them: the device reaches
// nothing but RAM, every call ends, and the host gets whole packets.
#include "tests/unit/devices/virtio/hostile_driver.hpp"
#include "tests/unit/devices/virtio/vsock_machine.hpp"

#include <gtest/gtest.h>

namespace previrt {
namespace {

class HostileVsock final : public HostileDriver<VsockMachine> {
public:
    explicit HostileVsock(std::uint64_t seed) : HostileDriver(seed, most_accesses) {}

    [[nodiscard]] std::uint64_t received() const { return received_; }
    [[nodiscard]] std::uint64_t given() const { return given_; }

private:
    // Each chain has at most `entries` buffers, which are described and then used, in pieces.
    static constexpr std::uint64_t most_accesses = 8 * std::uint64_t{VsockMachine::entries} * 64;

    void write_header() {
        constexpr std::uint32_t lengths[] = {0, 1, 100, 4052, 65'536, 65'537, 0xffff'ffff};
        vsock::Header front = header(lengths[choose(std::size(lengths))]);
        front.op = static_cast<std::uint16_t>(choose(9));
        store((choose(50) + 8) * page, Packet(reinterpret_cast<const std::uint8_t*>(&front),
                                              reinterpret_cast<const std::uint8_t*>(&front + 1)));
    }

    void step() override {
        scribble();
        write_header();
        if (choose(16) == 0) {
            access_registers();
        }
        const auto queue = static_cast<std::uint16_t>(choose(3));
        if (choose(3) == 0) {
            offer(queue, static_cast<std::uint16_t>(choose(entries)));
        }
        if (for_guest.size() < 3) {
            for_guest.push_back(packet(choose(3) * choose(9000)));
        }
        room_for = choose(4);
        set(notify, 2, queue);
        const std::size_t before = for_guest.size();
        vsock.serve(memory(), host());
        given_ += before - for_guest.size();
        received_ += sent.size();
        for (const Packet& packet : sent) {
            EXPECT_EQ(header_of(packet).len, packet.size() - vsock::header_bytes);
        }
        sent.clear();
        start_again_if_failed();
    }

    void interfere() override {
        scribble();
        write_header();
    }

    std::uint64_t received_ = 0;
    std::uint64_t given_ = 0;
};

TEST(HostileVsockDriver, ReachesNothingButRam) {
    std::uint64_t received = 0;
    std::uint64_t given = 0;
    std::uint64_t failures = 0;
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
        HostileVsock driver(seed);
        driver.run(25'000);
        received += driver.received();
        given += driver.given();
        failures += driver.failures();
    }
    // It got that far.
    EXPECT_GT(received, 100U);
    EXPECT_GT(given, 100U);
    EXPECT_GT(failures, 1'000U);
}

} // namespace
} // namespace previrt
