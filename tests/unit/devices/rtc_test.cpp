// SPDX-License-Identifier: BSD-2-Clause
#include "devices/rtc/rtc.hpp"

#include "devices/rtc/rtc_registers.hpp"

#include <array>
#include <gtest/gtest.h>
#include <initializer_list>
#include <random>

namespace previrt {
namespace {

constexpr std::uint64_t second = 1'000'000'000;
constexpr std::uint64_t millisecond = 1'000'000;

constexpr std::uint64_t sunday_noon = (1'709'208'000 - (4 * 86400)) * second; // 2024-02-25 12:00:00
constexpr std::uint64_t end_of_1999 = 946'684'799 * second;                   // 1999-12-31 23:59:59, a Friday

class RealTimeClock : public testing::Test {
protected:
    std::uint8_t read(std::uint8_t index, std::uint64_t now) {
        clock.write(0x70, index, now);
        return clock.read(0x71, now);
    }

    void write(std::uint8_t index, std::uint8_t value, std::uint64_t now) {
        clock.write(0x70, index, now);
        clock.write(0x71, value, now);
    }

    void enable(std::uint8_t interrupt, std::uint64_t now) {
        write(rtc::register_b, static_cast<std::uint8_t>(read(rtc::register_b, now) | interrupt), now);
    }

    void set_alarm(std::uint8_t hour, std::uint8_t minute, std::uint8_t at_second, std::uint64_t now) {
        write(rtc::hours_alarm, hour, now);
        write(rtc::minutes_alarm, minute, now);
        write(rtc::seconds_alarm, at_second, now);
    }

    // Year, month, day, weekday, hour, minute, second as the registers have them.
    using Time = std::array<std::uint8_t, 7>;
    Time time(std::uint64_t now) {
        return {read(rtc::year, now),        read(rtc::month, now), read(rtc::date_of_month, now),
                read(rtc::day_of_week, now), read(rtc::hours, now), read(rtc::minutes, now),
                read(rtc::seconds, now)};
    }

    void set_time(const Time& time, std::uint64_t now) {
        constexpr std::array<std::uint8_t, 7> registers{rtc::year,        rtc::month, rtc::date_of_month,
                                                        rtc::day_of_week, rtc::hours, rtc::minutes,
                                                        rtc::seconds};
        for (unsigned i = 0; i < registers.size(); ++i) {
            write(registers[i], time[i], now);
        }
    }

    void set_time_of_day(std::uint8_t hour, std::uint8_t minute, std::uint8_t at_second, std::uint64_t now) {
        set_time({0x24, 0x02, 0x25, 1, hour, minute, at_second}, now);
    }

    Rtc clock;
};

TEST_F(RealTimeClock, TellsTheTime) {
    clock.start(sunday_noon, 5 * second);
    EXPECT_EQ(time(5 * second), (Time{0x24, 0x02, 0x25, 1, 0x12, 0x00, 0x00}));
    EXPECT_EQ(time((6 * second) - 1), (Time{0x24, 0x02, 0x25, 1, 0x12, 0x00, 0x00}));
    EXPECT_EQ(time(6 * second), (Time{0x24, 0x02, 0x25, 1, 0x12, 0x00, 0x01}));
    EXPECT_EQ(read(rtc::century, 6 * second), 0x20);
    EXPECT_EQ(read(rtc::register_d, 6 * second), 0x80);
}

TEST_F(RealTimeClock, BeginsInTheMiddleOfASecond) {
    clock.start(sunday_noon + (second / 4), 5 * second);
    EXPECT_EQ(read(rtc::seconds, (5 * second) + (3 * second / 4) - millisecond), 0x00);
    EXPECT_EQ(read(rtc::seconds, (5 * second) + (3 * second / 4) + millisecond), 0x01);
}

TEST_F(RealTimeClock, RollsOver) {
    clock.start(end_of_1999, 0);
    EXPECT_EQ(read(rtc::century, 0), 0x19);
    EXPECT_EQ(time(0), (Time{0x99, 0x12, 0x31, 6, 0x23, 0x59, 0x59}));
    EXPECT_EQ(time(second), (Time{0x00, 0x01, 0x01, 7, 0x00, 0x00, 0x00}));
    clock.start(sunday_noon, second);
    EXPECT_EQ(time((4 * 86400 + 1) * second), (Time{0x24, 0x02, 0x29, 5, 0x12, 0x00, 0x00}));
    EXPECT_EQ(time((5 * 86400 + 1) * second), (Time{0x24, 0x03, 0x01, 6, 0x12, 0x00, 0x00}));
}

TEST_F(RealTimeClock, KnowsTheEpoch) {
    clock.start(0, 0);
    EXPECT_EQ(time(0), (Time{0x70, 0x01, 0x01, 5, 0x00, 0x00, 0x00}));
    EXPECT_EQ(read(rtc::century, 0), 0x19);
}

TEST_F(RealTimeClock, RunsForDecadesUnread) {
    clock.start(0, 0);
    const std::uint64_t years = (50 * 365) + 12; // days to 2020-01-01
    EXPECT_EQ(time(years * 86400 * second), (Time{0x20, 0x01, 0x01, 4, 0x00, 0x00, 0x00}));
}

TEST_F(RealTimeClock, IndexPortIsWriteOnlyAndMasksNmi) {
    EXPECT_FALSE(clock.nmi_masked());
    clock.write(0x70, 0x80 | rtc::register_d, 0);
    EXPECT_TRUE(clock.nmi_masked());
    EXPECT_EQ(clock.read(0x70, 0), 0xff);
    clock.start(0, 0);
    EXPECT_EQ(clock.read(0x71, 0), 0x80);
}

TEST_F(RealTimeClock, BinaryAnd12Hours) {
    clock.start(sunday_noon, 0);
    write(rtc::register_b, rtc::set | rtc::binary, 0); // 12 hours
    set_time({24, 2, 25, 1, 11, 59, 59}, 0);
    write(rtc::register_b, rtc::binary, 0);
    EXPECT_EQ(time(second), (Time{24, 2, 25, 1, 0x80 | 12, 0, 0}));
    EXPECT_EQ(time(3601 * second), (Time{24, 2, 25, 1, 0x80 | 1, 0, 0}));
    EXPECT_EQ(time((12 * 3600 + 1) * second), (Time{24, 2, 26, 2, 12, 0, 0}));
    write(rtc::register_b, 0, (12 * 3600 + 1) * second); // 12 hours, BCD
    set_time({0x24, 0x02, 0x26, 2, 0x91, 0x59, 0x59}, (12 * 3600 + 1) * second);
    EXPECT_EQ(time((12 * 3600 + 2) * second), (Time{0x24, 0x02, 0x27, 3, 0x12, 0x00, 0x00}));
}

TEST_F(RealTimeClock, ShowsUpdatesInProgress) {
    clock.start(sunday_noon, 0);
    EXPECT_EQ(read(rtc::register_a, 0), 0x26);
    unsigned in_progress = 0;
    for (std::uint64_t now = 0; now < 2 * second; now += 10'000) {
        const bool uip = (read(rtc::register_a, now) & rtc::update_in_progress) != 0;
        in_progress += uip ? 1 : 0;
        const std::uint64_t to_update = second - (now % second);
        ASSERT_EQ(uip, to_update <= 2'227'784) << now; // 73 cycles
    }
    EXPECT_NEAR(in_progress, 2 * 222, 4);
}

TEST_F(RealTimeClock, SetStopsUpdatesAndDisablesTheirInterrupt) {
    clock.start(sunday_noon, 0);
    enable(rtc::update_ended_interrupt_enable, 0);
    enable(rtc::set, 0);
    EXPECT_EQ(read(rtc::register_b, 0), rtc::set | rtc::hours_24);
    EXPECT_EQ(read(rtc::register_a, second - millisecond), 0x26);
    EXPECT_EQ(read(rtc::seconds, 100 * second), 0x00);
    EXPECT_EQ(read(rtc::register_c, 100 * second), rtc::periodic_interrupt);
    write(rtc::register_b, rtc::hours_24, (100 * second) + 1);
    EXPECT_EQ(read(rtc::seconds, 101 * second), 0x01);
}

// mc146818_set_time of Linux: SET, divider reset, the values, both back. Then half a second to the first
// update.
TEST_F(RealTimeClock, IsSetAsLinuxDoes) {
    clock.start(sunday_noon, 0);
    const std::uint64_t now = (10 * second) + (300 * millisecond);
    const std::uint8_t control = read(rtc::register_b, now);
    write(rtc::register_b, control | rtc::set, now);
    const std::uint8_t frequency = read(rtc::register_a, now);
    write(rtc::register_a, frequency | 0x70, now);
    set_time({0x38, 0x01, 0x19, 3, 0x03, 0x14, 0x07}, now);
    write(rtc::register_b, control, now);
    write(rtc::register_a, frequency, now);
    EXPECT_EQ(read(rtc::seconds, now + (500 * millisecond) - 50'000), 0x07);
    EXPECT_EQ(time(now + (500 * millisecond)), (Time{0x38, 0x01, 0x19, 3, 0x03, 0x14, 0x08}));
    EXPECT_EQ(read(rtc::seconds, now + (1500 * millisecond)), 0x09);
}

TEST_F(RealTimeClock, ADividerInResetStopsEverything) {
    clock.start(sunday_noon, 0);
    enable(rtc::periodic_interrupt_enable | rtc::update_ended_interrupt_enable, 0);
    write(rtc::register_a, 0x66, 0);
    EXPECT_FALSE(clock.next_event(0).has_value());
    EXPECT_FALSE(clock.line(100 * second));
    EXPECT_EQ(read(rtc::seconds, 100 * second), 0x00);
    EXPECT_EQ(read(rtc::register_a, 100 * second), 0x66);
}

TEST_F(RealTimeClock, HasNoDaylightSaving) {
    clock.start(sunday_noon, 0);
    write(rtc::register_b, 0xff & ~rtc::set, 0);
    EXPECT_EQ(read(rtc::register_b, 0), 0x7e);
}

TEST_F(RealTimeClock, UpdateEndedInterrupt) {
    clock.start(sunday_noon, 0);
    EXPECT_FALSE(clock.next_event(0).has_value());
    enable(rtc::update_ended_interrupt_enable, 0);
    EXPECT_EQ(clock.next_event(0), second);
    EXPECT_FALSE(clock.line(second - 1));
    EXPECT_TRUE(clock.line(second));
    EXPECT_FALSE(clock.next_event(second).has_value()); // it is already up
    EXPECT_EQ(read(rtc::register_c, second),
              rtc::interrupt_request | rtc::periodic_interrupt | rtc::update_ended_interrupt);
    EXPECT_FALSE(clock.line(second));
    EXPECT_EQ(read(rtc::register_c, second), 0);
    EXPECT_EQ(clock.next_event(second), 2 * second);
}

TEST_F(RealTimeClock, EnablingAFlagThatIsSetInterruptsAtOnce) {
    clock.start(sunday_noon, 0);
    EXPECT_FALSE(clock.line(2 * second));
    enable(rtc::update_ended_interrupt_enable, 2 * second);
    EXPECT_TRUE(clock.line(2 * second));
}

TEST_F(RealTimeClock, PeriodicInterruptAtEveryRate) {
    // Periods in 1/32768 s, by the data sheet's table.
    constexpr std::array<std::uint64_t, 16> periods{0,   128, 256, 4,    8,    16,   32,   64,
                                                    128, 256, 512, 1024, 2048, 4096, 8192, 16384};
    for (unsigned rate = 0; rate < periods.size(); ++rate) {
        clock.start(sunday_noon, 0);
        write(rtc::register_a, static_cast<std::uint8_t>(0x20U | rate), 0);
        enable(rtc::periodic_interrupt_enable, 0);
        if (rate == 0) {
            EXPECT_FALSE(clock.next_event(0).has_value());
            continue;
        }
        std::uint64_t now = 0;
        for (unsigned i = 1; i <= 5; ++i) {
            const std::uint64_t next = clock.next_event(now).value();
            ASSERT_EQ(Rtc::Clock::cycles(next), i * periods[rate]) << rate;
            ASSERT_FALSE(clock.line(next - 1));
            ASSERT_TRUE(clock.line(next));
            ASSERT_EQ(read(rtc::register_c, next) & ~rtc::update_ended_interrupt, 0xc0);
            now = next;
        }
    }
}

TEST_F(RealTimeClock, PeriodicInterruptGoesOnWhileTimeIsSet) {
    clock.start(sunday_noon, 0);
    write(rtc::register_b, rtc::set | rtc::periodic_interrupt_enable | rtc::hours_24, 0);
    const std::uint64_t now = (3 * second) + 1;
    EXPECT_TRUE(clock.line(now));
    read(rtc::register_c, now);
    EXPECT_EQ(Rtc::Clock::cycles(clock.next_event(now).value()), (3 * 32768) + 32);
}

TEST_F(RealTimeClock, AlarmAtATime) {
    clock.start(sunday_noon, 0);
    set_alarm(0x12, 0x34, 0x56, 0);
    enable(rtc::alarm_interrupt_enable, 0);
    const std::uint64_t due = 2096 * second;
    EXPECT_EQ(clock.next_event(0), due);
    EXPECT_FALSE(clock.line(due - 1));
    EXPECT_TRUE(clock.line(due));
    EXPECT_EQ(read(rtc::register_c, due) & rtc::alarm_interrupt, rtc::alarm_interrupt);
    EXPECT_EQ(clock.next_event(due), due + (86400 * second));
}

TEST_F(RealTimeClock, AlarmOf12Hours) {
    clock.start(sunday_noon, 0);
    write(rtc::register_b, 0, 0); // without PM, the 0x12 in the hours is now midnight
    set_alarm(0x81, 0x00, 0x00, 0);
    enable(rtc::alarm_interrupt_enable, 0);
    EXPECT_EQ(clock.next_event(0), 46'800 * second);
}

TEST_F(RealTimeClock, AnAlarmThatNoTimeHasNeverComes) {
    clock.start(sunday_noon, 0);
    enable(rtc::alarm_interrupt_enable, 0);
    for (const std::array<std::uint8_t, 3>& alarm :
         {std::array<std::uint8_t, 3>{0x24, 0, 0}, {0x1a, 0, 0}, {0, 0x60, 0}, {0, 0, 0x5a}, {0xbf, 0, 0}}) {
        set_alarm(alarm[0], alarm[1], alarm[2], 0);
        EXPECT_FALSE(clock.next_event(0).has_value());
    }
    EXPECT_FALSE(clock.line(259'200 * second));
}

// Every mixture of fixed and free fields against a clock that is looked at every second.
TEST_F(RealTimeClock, AlarmsAreFoundWithoutSearching) {
    std::mt19937 random(1);
    const auto below = [&random](unsigned limit) { return static_cast<unsigned>(random() % limit); };
    const auto bcd = [](unsigned value) {
        return static_cast<std::uint8_t>(((value / 10) << 4U) | (value % 10));
    };
    for (unsigned round = 0; round < 200; ++round) {
        clock.start(0, 0);
        const unsigned hour = below(4) == 0 ? 23 : below(24);
        set_time_of_day(bcd(hour), bcd(below(3) == 0 ? 58 + below(2) : below(60)),
                        bcd(below(3) == 0 ? 58 + below(2) : below(60)), 0);
        const bool any_hour = below(2) == 0;
        const bool any_minute = below(2) == 0;
        const bool any_second = below(2) == 0;
        // Fixed hours are near, so that the slow look ends soon.
        const unsigned alarm_hour = any_minute || any_second ? hour : (hour + below(2)) % 24;
        set_alarm(any_hour ? 0xff : bcd(alarm_hour), any_minute ? 0xc0 : bcd(below(60)),
                  any_second ? 0xd5 : bcd(below(60)), 0);
        const std::array<std::uint8_t, 3> alarm{clock.ram[rtc::hours_alarm], clock.ram[rtc::minutes_alarm],
                                                clock.ram[rtc::seconds_alarm]};
        enable(rtc::alarm_interrupt_enable, 0);
        const std::uint64_t predicted = clock.next_event(0).value();
        ASSERT_EQ(predicted % second, 0U);
        Rtc slow = clock;
        std::uint64_t found = 0;
        const auto matches = [&slow](std::uint8_t wanted, std::uint8_t at) {
            return wanted >= 0xc0 || slow.ram[at] == wanted;
        };
        do {
            found += second;
            slow.line(found);
        } while (!matches(alarm[0], rtc::hours) || !matches(alarm[1], rtc::minutes) ||
                 !matches(alarm[2], rtc::seconds));
        ASSERT_EQ(predicted, found) << round;
        Rtc late = clock;
        ASSERT_FALSE(late.line(found - 1));
        ASSERT_TRUE(late.line(found));
    }
}

TEST_F(RealTimeClock, WhatIsNoTimeIsKeptUntilTheNextUpdate) {
    clock.start(sunday_noon, 0);
    set_time({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 0);
    EXPECT_EQ(time(1), (Time{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}));
    EXPECT_EQ(time(second), (Time{0x00, 0x01, 0x01, 1, 0x00, 0x00, 0x00}));
    set_time({0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00}, second);
    EXPECT_EQ(time(2 * second), (Time{0x00, 0x00, 0x00, 0, 0x00, 0x00, 0x01}));
    EXPECT_EQ(time(86402 * second), (Time{0x00, 0x01, 0x02, 2, 0x00, 0x00, 0x01}));
}

TEST_F(RealTimeClock, RegistersCAndDAreReadOnly) {
    clock.start(sunday_noon, 0);
    write(rtc::register_c, 0xff, 0);
    write(rtc::register_d, 0x00, 0);
    EXPECT_EQ(read(rtc::register_c, 0), 0);
    EXPECT_EQ(read(rtc::register_d, 0), 0x80);
}

TEST_F(RealTimeClock, RamKeepsWhatIsWritten) {
    clock.start(sunday_noon, 0);
    for (unsigned index = 0x0e; index < 0x80; ++index) {
        write(static_cast<std::uint8_t>(index), static_cast<std::uint8_t>(index ^ 0xa5U), 0);
    }
    for (unsigned index = 0x0e; index < 0x80; ++index) {
        ASSERT_EQ(read(static_cast<std::uint8_t>(index), 100 * second), index ^ 0xa5U);
    }
}

TEST_F(RealTimeClock, TellsTheMemorySize) {
    const auto number = [this](unsigned index, unsigned length) {
        std::uint64_t value = 0;
        for (unsigned i = 0; i < length; ++i) {
            value |= std::uint64_t{clock.ram[index + i]} << (8 * i);
        }
        return value;
    };
    constexpr std::uint64_t mib = 1 << 20;
    clock.set_memory_size(256 * mib);
    EXPECT_EQ(number(rtc::base_memory, 2), 640U);
    EXPECT_EQ(number(rtc::extended_memory, 2), 0xffffU);
    EXPECT_EQ(number(rtc::extended_memory_2, 2), 0xffffU);
    EXPECT_EQ(number(rtc::memory_above_16m, 2), 240U * 16);
    EXPECT_EQ(number(rtc::memory_above_4g, 3), 0U);
    clock.set_memory_size(8 * mib);
    EXPECT_EQ(number(rtc::extended_memory, 2), 7U * 1024);
    EXPECT_EQ(number(rtc::extended_memory_2, 2), 7U * 1024);
    EXPECT_EQ(number(rtc::memory_above_16m, 2), 0U);
    clock.ram[0x2d] = 0x5a;
    clock.set_memory_size(6144 * mib);
    EXPECT_EQ(number(rtc::memory_above_4g, 3), 2048U * 16);
    unsigned sum = 0;
    for (unsigned index = 0x10; index <= 0x2d; ++index) {
        sum += clock.ram[index];
    }
    EXPECT_EQ((clock.ram[0x2e] << 8) | clock.ram[0x2f], sum);
}

} // namespace
} // namespace previrt
