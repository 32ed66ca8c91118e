// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/virtio/split_queue.hpp"
#include "tests/guests/harness/virtio.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <iterator>
#include <random>

namespace previrt {

// A driver of a `Machine` (virtio_machine.hpp) that means no good: it fills its queues with anything.
template <typename Machine>
class HostileDriver : protected Machine {
public:
    // `most_accesses`: to memory, in one call of the device.
    HostileDriver(std::uint64_t seed, std::uint64_t most_accesses)
        : random_(seed), most_accesses_(most_accesses) {}
    HostileDriver(const HostileDriver&) = delete;
    HostileDriver& operator=(const HostileDriver&) = delete;

    void run(unsigned steps) {
        Machine::start();
        for (unsigned i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
            step();
        }
    }
    // The device asked for a reset this many times.
    [[nodiscard]] std::uint64_t failures() const { return failures_; }

protected:
    ~HostileDriver() = default;

    using Machine::device;
    using Machine::entries;
    using Machine::ram;

    virtual void step() = 0;
    // As another processor would, while the device reads.
    virtual void interfere() { scribble(); }

    // For one call of the device.
    GuestMemory memory() {
        accesses_ = 0;
        return {.reach = reach, .context = this};
    }

    void start_again_if_failed() {
        if (!device.transport.is_running()) {
            failures_ += this->needs_reset() ? 1 : 0;
            start_again();
        }
    }

    std::uint32_t choose(std::uint32_t end) { return static_cast<std::uint32_t>(random_() % end); }

    std::uint64_t address() {
        const std::uint64_t near = choose(Machine::ram_bytes + 0x2000);
        switch (choose(8)) {
        case 0:
            return random_();
        case 1:
            return ~std::uint64_t{0} - near;
        case 2:
            return near;
        default:
            return near & ~(Machine::page - 1);
        }
    }

    std::uint32_t length() {
        constexpr std::uint32_t some[] = {0, 1, 15, 16, 17, 48, 4096, 8192, 0x1'0000, 0xffff'ffff};
        return some[choose(std::size(some))];
    }

    void scribble() {
        const auto queue = static_cast<std::uint16_t>(choose(Machine::linux_queues));
        const auto index = static_cast<std::uint16_t>(choose(entries));
        switch (choose(4)) {
        case 0:
            this->describe(queue, index, address(), length(), static_cast<std::uint16_t>(choose(8)),
                           static_cast<std::uint16_t>(choose(entries + 1)));
            break;
        case 1:
            this->put(0x8000, index, address(), length(), static_cast<std::uint16_t>(choose(8)),
                      static_cast<std::uint16_t>(choose(entries)));
            this->describe(queue, index, 0x8000, 16 * choose(entries), Machine::indirect);
            break;
        case 2:
            ram.store(Machine::available + (queue * Machine::queue_stride) + 4 + (std::uint64_t{2} * index),
                      static_cast<std::uint16_t>(choose(entries + 1)));
            break;
        default:
            this->describe(queue, index, address(), length(), Machine::write);
        }
    }

    void access_registers() {
        constexpr unsigned widths[] = {1, 2, 4};
        const unsigned width = widths[choose(3)];
        const std::uint32_t offset = choose(0x50);
        if (choose(2) == 0) {
            (void)device.read(offset, width);
        } else {
            (void)device.write(offset, width,
                               choose(4) == 0 ? static_cast<std::uint32_t>(random_()) : choose(16));
        }
    }

    [[nodiscard]] std::uint64_t returned() const {
        std::uint64_t sum = 0;
        for (const virtio::SplitQueue& queue : device.transport.queues) {
            sum += queue.returned;
        }
        return sum;
    }

private:
    static std::uint8_t* reach(void* context, std::uint64_t address, std::uint64_t bytes,
                               GuestMemory::Access /*access*/) {
        HostileDriver& self = *static_cast<HostileDriver*>(context);
        EXPECT_LE(++self.accesses_, self.most_accesses_);
        if (self.choose(4) == 0) {
            self.interfere();
        }
        return self.ram.at(address, bytes);
    }

    // The device needs a reset: the next driver begins anew.
    void start_again() {
        for (std::uint16_t number = 0; number < Machine::linux_queues; ++number) {
            ram.template store<std::uint16_t>(Machine::available + (number * Machine::queue_stride) + 2, 0);
        }
        this->set(device_status, 1, 0);
        Machine::start();
    }

    std::mt19937_64 random_;
    std::uint64_t most_accesses_;
    std::uint64_t accesses_ = 0;
    std::uint64_t failures_ = 0;
};

} // namespace previrt
