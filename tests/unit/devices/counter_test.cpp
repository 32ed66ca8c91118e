// SPDX-License-Identifier: BSD-2-Clause
#include "devices/pit8254/counter.hpp"

#include "tests/unit/devices/slow_counter.hpp"

#include <cstdint>
#include <gtest/gtest.h>
#include <optional>
#include <random>

namespace previrt {
namespace {

std::uint16_t to_bcd(std::uint32_t value) {
    return static_cast<std::uint16_t>((value / 1000 % 10 << 12U) | (value / 100 % 10 << 8U) |
                                      (value / 10 % 10 << 4U) | (value % 10));
}

// Counter against SlowCounter, under random programming.
class CounterOracle : public testing::TestWithParam<std::uint32_t> {
protected:
    std::uint32_t random(std::uint32_t below) { return static_cast<std::uint32_t>(generator() % below); }

    void write_control_word() {
        const unsigned mode = random(6);
        const bool decimal = random(4) == 0;
        access = 1 + random(3);
        writing_high = false;
        fast.write_control_word(
            static_cast<std::uint8_t>((access << 4U) | (mode << 1U) | (decimal ? 1U : 0U)), pulse);
        slow.control_word(mode, decimal);
    }

    void write_count() {
        if (access == 3 && writing_high) {
            finish_word();
            return;
        }
        std::uint32_t count = random(8) == 0 ? random(slow.modulus) : 2 + random(12);
        if (access == 1) {
            count %= slow.modulus == 10'000 ? 100U : 256U;
        } else if (access == 2) {
            const std::uint32_t unit = slow.modulus == 10'000 ? 100 : 256;
            count = random(3) * unit;
        }
        pending = count == 1 ? 2 : count;
        const std::uint16_t bits =
            slow.modulus == 10'000 ? to_bcd(pending) : static_cast<std::uint16_t>(pending);
        fast.write(static_cast<std::uint8_t>(access == 2 ? bits >> 8U : bits & 0xffU), pulse);
        if (access == 3) {
            pending_high = static_cast<std::uint8_t>(bits >> 8U);
            writing_high = true;
            slow.first_byte();
        } else {
            slow.write(pending);
        }
    }

    void finish_word() {
        fast.write(pending_high, pulse);
        slow.write(pending);
        writing_high = false;
    }

    void toggle_gate() {
        fast.set_gate(!slow.gate, pulse);
        slow.set_gate(!slow.gate);
    }

    void act() {
        const unsigned action = random(8);
        if (action == 0) {
            write_control_word();
        } else if (action < 5) {
            write_count();
        } else {
            toggle_gate();
        }
    }

    void compare() {
        ASSERT_EQ(fast.output(pulse), slow.out) << "mode " << slow.mode << " at pulse " << pulse;
        Counter copy = fast;
        copy.write_control_word(static_cast<std::uint8_t>(fast.control_word),
                                pulse); // clears flip-flops, keeps CE
        Counter reader = fast;
        reader.count_latched = reader.status_latched = reader.reading_high = false;
        reader.latch_status(pulse);
        ASSERT_EQ((reader.latched_status & 0x40U) != 0, slow.null_count) << "mode " << slow.mode;
        reader.status_latched = false;
        reader.control_word |= 0x30U;
        const std::uint32_t low = reader.read(pulse);
        const std::uint32_t count = low | (static_cast<std::uint32_t>(reader.read(pulse)) << 8U);
        const std::uint32_t expected = slow.counting_element % slow.modulus;
        if (slow.count_known) {
            ASSERT_EQ(count, slow.modulus == 10'000 ? to_bcd(expected) : expected)
                << "mode " << slow.mode << " at pulse " << pulse;
        }
    }

    void run(std::uint32_t pulses) {
        const std::uint64_t since = pulse;
        const std::optional<std::uint64_t> predicted = fast.next_rising_edge(since);
        std::optional<std::uint64_t> first;
        const std::uint64_t edges = slow.edges;
        for (std::uint32_t i = 0; i < pulses; ++i) {
            slow.clk();
            ++pulse;
            if (!first && slow.edges != edges) {
                first = pulse;
            }
            if (pulses < 100) {
                compare();
                ASSERT_FALSE(HasFatalFailure());
            }
        }
        ASSERT_EQ(fast.rising_edges(since, pulse), slow.edges - edges) << "mode " << slow.mode;
        if (first) {
            ASSERT_EQ(predicted, first) << "mode " << slow.mode;
        } else {
            ASSERT_TRUE(!predicted || *predicted > pulse) << "mode " << slow.mode;
        }
    }

    std::mt19937 generator{GetParam()};
    Counter fast;
    SlowCounter slow;
    std::uint64_t pulse = 1000;
    unsigned access = 3;
    bool writing_high = false;
    std::uint32_t pending = 0;
    std::uint8_t pending_high = 0;
};

TEST_P(CounterOracle, Agrees) {
    write_control_word();
    for (unsigned step = 0; step < 2000; ++step) {
        for (unsigned actions = random(3); actions > 0; --actions) {
            act();
        }
        run(random(100) == 0 ? 100 + random(80'000) : random(20));
        ASSERT_FALSE(HasFatalFailure()) << "step " << step;
        compare();
        ASSERT_FALSE(HasFatalFailure()) << "step " << step;
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, CounterOracle, testing::Range(1U, 9U));

} // namespace
} // namespace previrt
