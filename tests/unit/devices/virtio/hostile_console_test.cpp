// SPDX-License-Identifier: BSD-2-Clause
// A driver that means no good, and changes its messages and bytes while the device reads them: the device
// reaches nothing but RAM, every call ends, and the host gets packets of its ports alone.
#include "tests/unit/devices/virtio/console_machine.hpp"
#include "tests/unit/devices/virtio/hostile_packets.hpp"

#include <gtest/gtest.h>

namespace previrt {
namespace {

using console_port::Event;

class HostileConsole final : public HostilePackets<ConsoleMachine> {
public:
    explicit HostileConsole(std::uint64_t seed) : HostilePackets(seed, most_accesses) {}

private:
    // Each chain has at most `entries` buffers, which are described and then used, in pieces.
    static constexpr std::uint64_t most_accesses = 16 * std::uint64_t{ConsoleMachine::entries} * 64;

    void write_message() override {
        constexpr std::uint16_t events[] = {0, 3, 6, 6, 9};
        const std::uint64_t at = (choose(50) + 8) * page;
        ram.store(at, choose(9) == 8 ? ~std::uint32_t{0} : choose(3));
        ram.store(at + 4, events[choose(std::size(events))]);
        ram.store(at + 6, static_cast<std::uint16_t>(choose(4) != 0 ? 1 : 0));
    }

    Packet make_packet() override {
        return packet(choose(3), choose(200) == 0 ? Event::ended : Event::bytes,
                      std::string(std::size_t{choose(3)} * choose(5000), 'x'));
    }

    void check(const Packet& packet) override {
        EXPECT_LT(header_of(packet).port, 2U);
        EXPECT_EQ(header_of(packet).event == Event::bytes, packet.size() > console_port::header_bytes);
    }
};

TEST(HostileConsoleDriver, ReachesNothingButRam) {
    expect_that_it_gets_far<HostileConsole>();
}

} // namespace
} // namespace previrt
