// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/platform/pc.hpp"

#include <gtest/gtest.h>
#include <optional>

namespace previrt {

inline constexpr std::uint64_t second = 1'000'000'000;
inline constexpr std::uint64_t microsecond = 1000;
inline constexpr std::uint64_t start_time = 12'345'678'901;
inline constexpr std::uint64_t epoch = 1'767'225'600; // 2026-01-01

inline constexpr std::uint8_t timer_vector = 0x30;
inline constexpr std::uint8_t slave_vector = 0x38;

// The devices of a PC, driven as Linux drives them.
class Platform : public testing::Test {
protected:
    void SetUp() override { pc.start(epoch * Rtc::Clock::second, 256ULL << 20U, now); }

    void out(std::uint16_t port, std::uint32_t value, unsigned width = 1) {
        ASSERT_TRUE(pc.write(port, width, value, now)) << std::hex << port;
    }

    std::uint32_t in(std::uint16_t port, unsigned width = 1) {
        const std::optional<std::uint32_t> value = pc.read(port, width, now);
        EXPECT_TRUE(value.has_value()) << std::hex << port;
        return value.value_or(0xdead'beef);
    }

    // As Linux initializes the pair, with only these unmasked.
    void initialize_pics(std::uint16_t enabled) {
        for (const std::uint32_t value : {0x11U, 0x30U, 0x04U, 0x01U}) {
            out(value == 0x11U ? 0x20 : 0x21, value);
        }
        for (const std::uint32_t value : {0x11U, 0x38U, 0x02U, 0x01U}) {
            out(value == 0x11U ? 0xa0 : 0xa1, value);
        }
        out(0x21, ~enabled & 0xffU);
        out(0xa1, ~enabled >> 8U & 0xffU);
    }

    // The vector, or nothing; the interrupt is ended at once.
    std::optional<std::uint8_t> take_interrupt() {
        pc.advance(Pc::boot_processor, now);
        if (!pc.pic.interrupt_requested()) {
            return std::nullopt;
        }
        const std::uint8_t vector = pc.pic.acknowledge();
        if (vector >= slave_vector) {
            out(0xa0, 0x60U + (vector & 7U));
            out(0x20, 0x62);
        } else {
            out(0x20, 0x60U + (vector & 7U));
        }
        return vector;
    }

    void sleep() {
        const std::optional<std::uint64_t> event = pc.next_event(Pc::boot_processor);
        ASSERT_TRUE(event.has_value());
        ASSERT_GT(*event, now);
        now = *event;
    }

    Pc pc{};
    std::uint64_t now = start_time;
};

} // namespace previrt
