// SPDX-License-Identifier: BSD-2-Clause
// A driver that means no good, and changes its structures while the device reads them: the device reaches
// nothing but RAM, and every call ends.
#include "tests/unit/devices/virtio/balloon_machine.hpp"

#include <gtest/gtest.h>
#include <random>

namespace previrt {
namespace {

class HostileDriver : protected BalloonMachine {
public:
    explicit HostileDriver(std::uint64_t seed) : random_(seed) {}

    void run(unsigned steps) {
        start();
        for (unsigned i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
            step();
        }
    }
    [[nodiscard]] std::uint64_t chains() const { return chains_; }
    [[nodiscard]] std::uint64_t takings() const { return takings_; }
    [[nodiscard]] std::uint64_t failures() const { return failures_; }

private:
    // Each chain has at most `entries` buffers; each of them may be an array of page numbers.
    static constexpr std::uint64_t most_accesses =
        (8 * std::uint64_t{BalloonMachine::entries} * 64) + (2 * VirtioBalloon::most_pages);

    std::uint32_t choose(std::uint32_t end) { return static_cast<std::uint32_t>(random_() % end); }

    std::uint64_t address() {
        const std::uint64_t near = choose(ram_bytes + 0x2000);
        switch (choose(8)) {
        case 0:
            return random_();
        case 1:
            return ~std::uint64_t{0} - near;
        case 2:
            return near;
        default:
            return near & ~(page - 1);
        }
    }

    std::uint32_t length() {
        constexpr std::uint32_t some[] = {0, 1, 15, 16, 17, 48, 4096, 8192, 0x1'0000, 0xffff'ffff};
        return some[choose(std::size(some))];
    }

    void scribble() {
        const auto queue = static_cast<std::uint16_t>(choose(3));
        const auto index = static_cast<std::uint16_t>(choose(entries));
        switch (choose(4)) {
        case 0:
            describe(queue, index, address(), length(), static_cast<std::uint16_t>(choose(8)),
                     static_cast<std::uint16_t>(choose(entries + 1)));
            break;
        case 1:
            put(0x8000, index, address(), length(), static_cast<std::uint16_t>(choose(8)),
                static_cast<std::uint16_t>(choose(entries)));
            describe(queue, index, 0x8000, 16 * choose(entries), indirect);
            break;
        case 2:
            ram.store(available + (queue * queue_stride) + 4 + (std::uint64_t{2} * index),
                      static_cast<std::uint16_t>(choose(entries + 1)));
            break;
        default:
            describe(queue, index, address(), length(), write);
        }
    }

    void access_registers() {
        constexpr unsigned widths[] = {1, 2, 4};
        const unsigned width = widths[choose(3)];
        const std::uint32_t offset = choose(0x50);
        if (choose(2) == 0) {
            (void)balloon.read(offset, width);
        } else {
            (void)balloon.write(offset, width,
                                choose(4) == 0 ? static_cast<std::uint32_t>(random_()) : choose(16));
        }
    }

    void step() {
        scribble();
        if (choose(16) == 0) {
            access_registers();
        }
        const auto queue = static_cast<std::uint16_t>(choose(3));
        if (choose(3) == 0) {
            offer(queue, static_cast<std::uint16_t>(choose(entries)));
        }
        set(notify, 2, queue);
        accesses_ = 0;
        const std::uint64_t before = returned();
        balloon.serve({.reach = reach, .context = this}, {.take = take, .context = this});
        chains_ += returned() - before;
        if (!balloon.transport.is_running()) {
            failures_ += needs_reset() ? 1 : 0;
            for (std::uint16_t number = 0; number < linux_queues; ++number) {
                ram.store<std::uint16_t>(available + (number * queue_stride) + 2, 0);
            }
            set(device_status, 1, 0);
            start();
        }
    }

    [[nodiscard]] std::uint64_t returned() const {
        std::uint64_t sum = 0;
        for (const virtio::SplitQueue& queue : balloon.transport.queues) {
            sum += queue.returned;
        }
        return sum;
    }

    static std::uint8_t* reach(void* context, std::uint64_t address, std::uint64_t bytes,
                               GuestMemory::Access /*access*/) {
        HostileDriver& self = *static_cast<HostileDriver*>(context);
        EXPECT_LE(++self.accesses_, most_accesses);
        if (self.choose(4) == 0) {
            self.scribble(); // another processor
        }
        return self.ram.at(address, bytes);
    }

    static void take(void* context, std::uint64_t address, std::uint64_t bytes) {
        HostileDriver& self = *static_cast<HostileDriver*>(context);
        ++self.takings_;
        EXPECT_EQ(address % page, 0U);
        EXPECT_EQ(bytes % page, 0U);
        EXPECT_NE(bytes, 0U);
        EXPECT_NE(self.ram.at(address, bytes), nullptr);
    }

    std::mt19937_64 random_;
    std::uint64_t accesses_ = 0;
    std::uint64_t chains_ = 0;
    std::uint64_t takings_ = 0;
    std::uint64_t failures_ = 0;
};

TEST(HostileBalloonDriver, ReachesNothingButRam) {
    std::uint64_t chains = 0;
    std::uint64_t takings = 0;
    std::uint64_t failures = 0;
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
        HostileDriver driver(seed);
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
