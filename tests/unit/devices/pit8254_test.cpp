// SPDX-License-Identifier: BSD-2-Clause
#include "devices/pit8254/pit8254.hpp"

#include <gtest/gtest.h>
#include <string>

namespace previrt {
namespace {

constexpr std::uint16_t counter_0 = 0x40;
constexpr std::uint16_t counter_2 = 0x42;
constexpr std::uint16_t control = 0x43;

constexpr std::uint64_t second = 1'000'000'000;
constexpr std::uint64_t century = std::uint64_t{36525} * 86400 * second;

std::uint16_t to_bcd(std::uint32_t value) {
    return static_cast<std::uint16_t>((value / 1000 % 10 << 12U) | (value / 100 % 10 << 8U) |
                                      (value / 10 % 10 << 4U) | (value % 10));
}

// Times in CLK pulses, from a start so late that a narrow product would have wrapped.
class Pit : public testing::Test {
protected:
    static std::uint64_t at(std::uint64_t pulse) { return Pit8254::Clock::time_of(origin + pulse).value(); }

    void write_word(std::uint16_t port, std::uint16_t value, std::uint64_t pulse) {
        pit.write(port, static_cast<std::uint8_t>(value & 0xffU), at(pulse));
        pit.write(port, static_cast<std::uint8_t>(value >> 8U), at(pulse));
    }

    std::uint16_t read_word(std::uint16_t port, std::uint64_t pulse) {
        const std::uint8_t low = pit.read(port, at(pulse));
        return static_cast<std::uint16_t>(low | (pit.read(port, at(pulse)) << 8U));
    }

    void program(unsigned channel, unsigned mode, std::uint16_t count, std::uint64_t pulse = 0) {
        pit.write(control, static_cast<std::uint8_t>((channel << 6U) | 0x30U | (mode << 1U)), at(pulse));
        write_word(static_cast<std::uint16_t>(counter_0 + channel), count, pulse);
    }

    [[nodiscard]] bool output(std::uint64_t pulse, unsigned channel = 0) const {
        return pit.output(channel, at(pulse));
    }

    // OUT of counter 0 over `pulses` from 0 on, as a drawing.
    [[nodiscard]] std::string drawn(unsigned pulses) const {
        std::string line;
        for (unsigned pulse = 0; pulse < pulses; ++pulse) {
            line += output(pulse) ? '-' : '_';
        }
        return line;
    }

    static constexpr std::uint64_t origin = Pit8254::Clock::cycles(century);
    Pit8254 pit;
};

// Figures of the data sheet: the count is written at pulse 0 and loaded at pulse 1.
TEST_F(Pit, Mode0InterruptsOnTerminalCount) {
    program(0, 0, 4);
    EXPECT_EQ(drawn(10), "_____-----");
    EXPECT_EQ(pit.next_edge(at(0)), at(5));
    EXPECT_FALSE(pit.next_edge(at(5)).has_value());
    EXPECT_EQ(read_word(counter_0, 1), 4);
    EXPECT_EQ(read_word(counter_0, 5), 0);
    EXPECT_EQ(read_word(counter_0, 6), 0xffff);
}

TEST_F(Pit, Mode1IsRetriggerable) {
    pit.set_gate(false, at(0));
    program(2, 1, 3);
    EXPECT_TRUE(output(10, 2));
    pit.set_gate(true, at(10));
    EXPECT_TRUE(output(10, 2));
    EXPECT_FALSE(output(11, 2));
    pit.set_gate(false, at(11));
    EXPECT_FALSE(output(13, 2));
    EXPECT_TRUE(output(14, 2));
    pit.set_gate(true, at(12));
    EXPECT_FALSE(output(15, 2));
    EXPECT_TRUE(output(16, 2));
}

TEST_F(Pit, Mode2DividesByN) {
    program(0, 2, 3);
    EXPECT_EQ(drawn(12), "---_--_--_--");
    EXPECT_EQ(pit.next_edge(at(0)), at(4));
    EXPECT_EQ(pit.next_edge(at(4)), at(7));
    EXPECT_EQ(pit.rising_edges(at(0), at(10)), 3U);
    EXPECT_EQ(pit.rising_edges(at(4), at(7)), 1U);
    EXPECT_EQ(pit.rising_edges(at(7), at(7)), 0U);
}

TEST_F(Pit, Mode3IsASquareWave) {
    program(0, 3, 4);
    EXPECT_EQ(drawn(12), "---__--__--_");
    program(0, 3, 5);
    EXPECT_EQ(drawn(15), "----__---__---_");
    EXPECT_EQ(pit.next_edge(at(0)), at(6));
}

TEST_F(Pit, Mode4StrobesOnce) {
    program(0, 4, 3);
    EXPECT_EQ(drawn(10), "----_-----");
    EXPECT_EQ(pit.next_edge(at(0)), at(5));
    EXPECT_FALSE(pit.next_edge(at(5)).has_value());
    EXPECT_EQ(pit.rising_edges(at(0), at(1'000'000)), 1U);
}

TEST_F(Pit, Mode5StrobesAfterATrigger) {
    pit.set_gate(false, at(0));
    program(2, 5, 3);
    pit.set_gate(true, at(10));
    EXPECT_TRUE(output(13, 2));
    EXPECT_FALSE(output(14, 2));
    EXPECT_TRUE(output(15, 2));
}

TEST_F(Pit, Modes6And7Are2And3) {
    program(0, 6, 3);
    EXPECT_EQ(drawn(8), "---_--_-");
    program(0, 7, 4);
    EXPECT_EQ(drawn(8), "---__--_");
    pit.write(control, 0xe2, at(8)); // status, exactly as written
    EXPECT_EQ(pit.read(counter_0, at(8)) & 0x3fU, 0x3eU);
}

TEST_F(Pit, ZeroIsTheLargestCount) {
    program(0, 2, 0);
    EXPECT_EQ(pit.next_edge(at(0)), at(0x1'0001));
    pit.write(control, 0x35, at(0)); // the same in BCD
    write_word(counter_0, 0, 0);
    EXPECT_EQ(pit.next_edge(at(0)), at(10'001));
}

TEST_F(Pit, CountsInDecimal) {
    pit.write(control, 0x31, at(0));
    write_word(counter_0, 0x1000, 0);
    EXPECT_EQ(read_word(counter_0, 2), 0x0999);
    EXPECT_EQ(pit.next_edge(at(0)), at(1001));
    EXPECT_EQ(read_word(counter_0, 1002), 0x9999);
}

TEST_F(Pit, AControlWordStopsTheCounter) {
    program(0, 2, 100);
    pit.write(control, 0x30, at(10));
    EXPECT_FALSE(output(10));
    EXPECT_FALSE(pit.next_edge(at(10)).has_value());
    EXPECT_EQ(read_word(counter_0, 5000), 91);
}

TEST_F(Pit, LowOrHighByteAlone) {
    pit.write(control, 0x10, at(0)); // low byte, mode 0
    pit.write(counter_0, 0x80, at(0));
    EXPECT_EQ(pit.read(counter_0, at(1)), 0x80);
    EXPECT_EQ(pit.read(counter_0, at(2)), 0x7f);
    pit.write(control, 0x20, at(0)); // high byte
    pit.write(counter_0, 0x80, at(0));
    EXPECT_EQ(pit.read(counter_0, at(1)), 0x80);
    EXPECT_EQ(pit.read(counter_0, at(2)), 0x7f);
    EXPECT_EQ(pit.next_edge(at(0)), at(0x8001));
}

TEST_F(Pit, AHalfWrittenCountStopsMode0AndKeepsMode2Going) {
    program(0, 0, 10);
    pit.write(counter_0, 50, at(5));
    EXPECT_FALSE(pit.next_edge(at(5)).has_value());
    EXPECT_EQ(pit.counters[0].rising_edges(origin + 5, origin + 100), 0U);
    pit.write(counter_0, 0, at(20));
    EXPECT_EQ(pit.next_edge(at(20)), at(71));
    program(0, 2, 10, 100);
    pit.write(counter_0, 50, at(105));
    EXPECT_EQ(pit.next_edge(at(105)), at(111));
}

TEST_F(Pit, LatchHoldsUntilRead) {
    program(0, 2, 1000);
    pit.write(control, 0x00, at(11));
    pit.write(control, 0x00, at(21)); // ignored
    EXPECT_EQ(read_word(counter_0, 31), 990);
    EXPECT_EQ(read_word(counter_0, 31), 970);
}

TEST_F(Pit, LatchIsReleasedByAControlWord) {
    program(0, 2, 1000);
    pit.write(control, 0x00, at(11));
    program(0, 2, 500, 12);
    EXPECT_EQ(read_word(counter_0, 13), 500);
}

TEST_F(Pit, ReadBackLatchesSeveralCounters) {
    program(0, 2, 1000);
    program(1, 2, 2000);
    program(2, 3, 3000);
    pit.write(control, 0xd0 | 0x0e, at(11)); // counts of all
    EXPECT_EQ(read_word(counter_0, 50), 990);
    EXPECT_EQ(read_word(counter_0 + 1, 50), 1990);
    EXPECT_EQ(read_word(counter_2, 50), 2980);
    pit.write(control, 0xd0 | 0x04, at(61)); // counter 1
    EXPECT_EQ(read_word(counter_0, 71), 930);
    EXPECT_EQ(read_word(counter_0 + 1, 71), 1940);
}

TEST_F(Pit, ReadBackGivesStatusBeforeCount) {
    program(0, 2, 1000);
    pit.write(control, 0xc2, at(11));
    EXPECT_EQ(pit.read(counter_0, at(20)), 0xb4); // OUT, word access, mode 2
    EXPECT_EQ(read_word(counter_0, 20), 990);
    write_word(counter_0, 500, 30);
    pit.write(control, 0xe2, at(40));
    pit.write(control, 0xe2, at(1001));             // a second one does not replace the first
    EXPECT_EQ(pit.read(counter_0, at(2000)), 0xf4); // the new count waits for the end of the period
    pit.write(control, 0xe2, at(1001));
    EXPECT_EQ(pit.read(counter_0, at(1001)), 0xb4);
}

TEST_F(Pit, GateStopsCounter2) {
    program(2, 0, 100);
    pit.set_gate(false, at(11));
    EXPECT_EQ(read_word(counter_2, 500), 90);
    pit.set_gate(true, at(1000));
    EXPECT_EQ(read_word(counter_2, 1010), 80);
    EXPECT_FALSE(output(1089, 2));
    EXPECT_TRUE(output(1090, 2));
}

TEST_F(Pit, GateDoesNotRepeatAStrobe) {
    program(2, 4, 10);
    pit.set_gate(false, at(20));
    pit.set_gate(true, at(30));
    for (std::uint64_t pulse = 30; pulse < 70'000; ++pulse) {
        ASSERT_TRUE(output(pulse, 2)) << pulse;
    }
    program(2, 4, 10, 70'000);
    pit.set_gate(false, at(70'011)); // during the strobe
    EXPECT_FALSE(output(70'011, 2));
    EXPECT_TRUE(output(70'012, 2));
}

TEST_F(Pit, ANewCountOfMode2WaitsForThePeriodToEnd) {
    program(0, 2, 10);
    write_word(counter_0, 4, 5);
    EXPECT_EQ(pit.next_edge(at(5)), at(11));
    EXPECT_EQ(pit.next_edge(at(11)), at(15));
    EXPECT_EQ(pit.rising_edges(at(5), at(19)), 3U);
    EXPECT_EQ(pit.rising_edges(at(11), at(19)), 2U);
    write_word(counter_0, 10, 12); // after the load
    EXPECT_EQ(pit.next_edge(at(15)), at(25));
}

TEST_F(Pit, ControlRegisterCannotBeRead) {
    EXPECT_EQ(pit.read(control, at(0)), 0xff);
}

TEST_F(Pit, IllegalCountOf1MakesNoStormOfEdges) {
    for (const unsigned mode : {2U, 3U}) {
        program(0, mode, 1);
        EXPECT_FALSE(pit.next_edge(at(0)).has_value());
        EXPECT_EQ(pit.rising_edges(at(0), at(1'000'000)), 0U);
        EXPECT_TRUE(output(100));
        write_word(counter_0, 5, 200);
        EXPECT_TRUE(pit.next_edge(at(200)).has_value());
    }
}

TEST_F(Pit, NoBcdDigitsAreNoHazard) {
    for (unsigned mode = 0; mode < 6; ++mode) {
        pit.write(control, static_cast<std::uint8_t>(0x31U | (mode << 1U)), at(0));
        write_word(counter_0, 0xffff, 0);
        for (const std::uint64_t pulse : {1U, 2U, 9999U, 16665U, 16666U, 70000U}) {
            const std::uint16_t count = read_word(counter_0, pulse);
            EXPECT_EQ(to_bcd(((count >> 12U) * 1000U) + ((count >> 8U & 15U) * 100U) +
                             ((count >> 4U & 15U) * 10U) + (count & 15U)),
                      count);
        }
    }
}

TEST_F(Pit, HasNoFourthOutput) {
    EXPECT_FALSE(output(0, 3));
    EXPECT_FALSE(output(0, 0xffff'ffff));
}

TEST_F(Pit, ACenturyOfTicksIsCountedAtOnce) {
    Pit8254 timer;
    timer.write(control, 0x34, 0);
    timer.write(counter_0, 4773 & 0xff, 0); // 250 Hz
    timer.write(counter_0, 4773 >> 8, 0);
    EXPECT_EQ(timer.rising_edges(0, century), (Pit8254::Clock::cycles(century) - 1) / 4773);
    const std::uint64_t next = timer.next_edge(century).value();
    EXPECT_GT(next, century);
    EXPECT_LT(next, century + (second / 249));
    EXPECT_EQ(timer.rising_edges(century, next), 1U);
    EXPECT_EQ(timer.rising_edges(century, next - 1), 0U);
}

TEST_F(Pit, TheEndOfTimeHasNoEdge) {
    constexpr std::uint64_t last = ~std::uint64_t{0};
    Pit8254 timer;
    timer.write(control, 0x30, last - 100);
    timer.write(counter_0, 0, last - 100);
    timer.write(counter_0, 0, last - 100);
    EXPECT_FALSE(timer.next_edge(last - 50).has_value());
    EXPECT_EQ(timer.rising_edges(last - 100, last), 0U);
}

} // namespace
} // namespace previrt
