// SPDX-License-Identifier: BSD-2-Clause
// A driver that means no good, and changes its structures while the device reads them: the device reaches
// nothing but RAM, and every call ends.
#include "tests/unit/devices/virtio/balloon_machine.hpp"
#include "tests/unit/devices/virtio/hostile_driver.hpp"

#include <gtest/gtest.h>

namespace previrt {
namespace {

class HostileBalloon final : public HostileDriver<BalloonMachine> {
public:
    explicit HostileBalloon(std::uint64_t seed) : HostileDriver(seed, most_accesses) {}

    [[nodiscard]] std::uint64_t chains() const { return chains_; }
    [[nodiscard]] std::uint64_t takings() const { return takings_; }

private:
    // Each chain has at most `entries` buffers; each of them may be an array of page numbers.
    static constexpr std::uint64_t most_accesses =
        (8 * std::uint64_t{BalloonMachine::entries} * 64) + (2 * VirtioBalloon::most_pages);

    void step() override {
        scribble();
        if (choose(16) == 0) {
            access_registers();
        }
        const auto queue = static_cast<std::uint16_t>(choose(3));
        if (choose(3) == 0) {
            offer(queue, static_cast<std::uint16_t>(choose(entries)));
        }
        set(notify, 2, queue);
        const std::uint64_t before = returned();
        balloon.serve(memory(), {.take = take, .context = this});
        chains_ += returned() - before;
        start_again_if_failed();
    }

    static void take(void* context, std::uint64_t address, std::uint64_t bytes) {
        HostileBalloon& self = *static_cast<HostileBalloon*>(context);
        ++self.takings_;
        EXPECT_EQ(address % page, 0U);
        EXPECT_EQ(bytes % page, 0U);
        EXPECT_NE(bytes, 0U);
        EXPECT_NE(self.ram.at(address, bytes), nullptr);
    }

    std::uint64_t chains_ = 0;
    std::uint64_t takings_ = 0;
};

TEST(HostileBalloonDriver, ReachesNothingButRam) {
    std::uint64_t chains = 0;
    std::uint64_t takings = 0;
    std::uint64_t failures = 0;
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
        HostileBalloon driver(seed);
        driver.run(25'000);
        chains += driver.chains();
        takings += driver.takings();
        failures += driver.failures();
    }
    // It got that far.
    EXPECT_GT(chains, 1'000U);
    EXPECT_GT(takings, 100U);
    EXPECT_GT(failures, 1'000U);
}

} // namespace
} // namespace previrt
