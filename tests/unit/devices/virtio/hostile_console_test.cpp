// SPDX-License-Identifier: BSD-2-Clause
// A driver that means no good, and changes its messages and bytes while the device reads them: the device
// reaches nothing but RAM, every call ends, and the host gets packets of its ports alone.
#include "tests/unit/devices/virtio/console_machine.hpp"
#include "tests/unit/devices/virtio/hostile_driver.hpp"

#include <gtest/gtest.h>

namespace previrt {
namespace {

using console_port::Event;

class HostileConsole final : public HostileDriver<ConsoleMachine> {
public:
    explicit HostileConsole(std::uint64_t seed) : HostileDriver(seed, most_accesses) {}

    [[nodiscard]] std::uint64_t received() const { return received_; }
    [[nodiscard]] std::uint64_t given() const { return given_; }

private:
    // Each chain has at most `entries` buffers, which are described and then used, in pieces.
    static constexpr std::uint64_t most_accesses = 16 * std::uint64_t{ConsoleMachine::entries} * 64;

    void write_message() {
        constexpr std::uint16_t events[] = {0, 3, 6, 6, 9};
        const std::uint64_t at = (choose(50) + 8) * page;
        ram.store(at, choose(9) == 8 ? ~std::uint32_t{0} : choose(3));
        ram.store(at + 4, events[choose(std::size(events))]);
        ram.store(at + 6, static_cast<std::uint16_t>(choose(4) != 0 ? 1 : 0));
    }

    void step() override {
        scribble();
        write_message();
        if (choose(16) == 0) {
            access_registers();
        }
        const auto queue = static_cast<std::uint16_t>(choose(linux_queues));
        if (choose(3) == 0) {
            offer(queue, static_cast<std::uint16_t>(choose(entries)));
        }
        if (for_guest.size() < 3) {
            for_guest.push_back(packet(choose(3), choose(200) == 0 ? Event::ended : Event::bytes,
                                       std::string(std::size_t{choose(3)} * choose(5000), 'x')));
        }
        room_for = choose(4);
        set(notify, 2, queue);
        const std::size_t before = for_guest.size();
        console.serve(memory(), host());
        given_ += before - for_guest.size();
        received_ += sent.size();
        for (const Packet& packet : sent) {
            EXPECT_LT(header_of(packet).port, 2U);
            EXPECT_EQ(header_of(packet).event == Event::bytes, packet.size() > console_port::header_bytes);
        }
        sent.clear();
        start_again_if_failed();
    }

    void interfere() override {
        scribble();
        write_message();
    }

    std::uint64_t received_ = 0;
    std::uint64_t given_ = 0;
};

TEST(HostileConsoleDriver, ReachesNothingButRam) {
    std::uint64_t received = 0;
    std::uint64_t given = 0;
    std::uint64_t failures = 0;
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
        HostileConsole driver(seed);
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
