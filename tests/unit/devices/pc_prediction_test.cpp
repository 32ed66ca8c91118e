// SPDX-License-Identifier: BSD-2-Clause
// What a Pc says that its interrupts will come to, against what they come to.
#include "tests/unit/devices/platform.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <iterator>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace previrt {
namespace {

std::array<std::uint8_t, sizeof(PicPair)> state_of(const PicPair& pic) {
    return std::bit_cast<std::array<std::uint8_t, sizeof(PicPair)>>(pic);
}

std::vector<std::uint8_t> state_of(const Pc& pc) {
    std::vector<std::uint8_t> bytes(sizeof pc);
    std::memcpy(bytes.data(), &pc, sizeof pc);
    return bytes;
}

class Prediction : public Platform {
protected:
    // Empty: no interrupt is asked for.
    static std::optional<std::uint8_t> vector_of(PicPair pic) {
        return pic.interrupt_requested() ? std::optional(pic.acknowledge()) : std::nullopt;
    }

    // That it holds, and has changed nothing.
    std::optional<std::uint8_t> predict_time(std::uint64_t when) {
        const std::vector<std::uint8_t> before = state_of(pc);
        const PicPair predicted = pc.interrupts_at(when);
        EXPECT_EQ(state_of(pc), before);
        Pc then = pc;
        then.advance(Pc::boot_processor, when);
        EXPECT_EQ(state_of(predicted), state_of(then.pic)) << when;
        return vector_of(predicted);
    }

    std::optional<std::uint8_t> predict_input(std::uint8_t character = 'x') {
        const std::vector<std::uint8_t> before = state_of(pc);
        const PicPair predicted = pc.interrupts_after_input();
        EXPECT_EQ(state_of(pc), before);
        Pc then = pc;
        then.uart.receive(character);
        then.update_lines();
        EXPECT_EQ(state_of(predicted), state_of(then.pic)) << unsigned{character};
        return vector_of(predicted);
    }

    void set_timer(std::uint32_t mode, std::uint32_t count) {
        out(0x43, 0x30U | (mode << 1U));
        out(0x40, count & 0xffU);
        out(0x40, count >> 8U);
    }

    void enable_receiver() {
        out(0x3fb, 0x03);
        out(0x3fa, 0x01);
        out(0x3fc, 0x0b);
        out(0x3f9, 0x01);
    }
};

TEST_F(Prediction, PeriodicTimer) {
    for (const std::uint32_t mode : {2U, 3U}) {
        initialize_pics(0x0001);
        set_timer(mode, 4773);
        take_interrupt();
        for (unsigned tick = 0; tick < 20; ++tick) {
            const std::uint64_t event = pc.next_event(Pc::boot_processor).value();
            EXPECT_EQ(predict_time(event - 1), std::nullopt);
            EXPECT_EQ(predict_time(event), timer_vector);
            predict_time(event + second);
            now = event;
            EXPECT_EQ(take_interrupt(), timer_vector);
            EXPECT_EQ(predict_time(now), std::nullopt);
        }
    }
}

TEST_F(Prediction, SquareWaveTakesItsRequestBack) {
    initialize_pics(0x0001);
    set_timer(3, 0x1000);
    take_interrupt();
    const std::uint64_t event = pc.next_event(Pc::boot_processor).value();
    EXPECT_EQ(predict_time(event + Pit8254::Clock::time_of(0x700).value()), timer_vector);
    EXPECT_EQ(predict_time(event + Pit8254::Clock::time_of(0x900).value()), std::nullopt);
}

TEST_F(Prediction, OneShotTimer) {
    for (const std::uint32_t mode : {0U, 4U}) {
        initialize_pics(0x0001);
        set_timer(mode, 1193);
        take_interrupt();
        const std::uint64_t event = pc.next_event(Pc::boot_processor).value();
        EXPECT_EQ(predict_time(event - 1), std::nullopt);
        EXPECT_EQ(predict_time(event), timer_vector);
        EXPECT_EQ(predict_time(event + second), timer_vector);
        now = event;
        EXPECT_EQ(take_interrupt(), timer_vector);
        EXPECT_EQ(predict_time(now + second), std::nullopt);
    }
}

// A monitor whose clock is a little ahead delivers an event before the VMM's clock is there. The guest then
// sets the timer for less than that difference.
TEST_F(Prediction, TimerSetBeforeTheTimeOfTheLastEvent) {
    constexpr std::uint64_t ahead = 20 * microsecond;
    constexpr std::uint32_t shortest = 15; // Linux sets no shorter time, 12.6 us
    for (const std::uint32_t mode : {0U, 2U, 3U, 4U}) {
        initialize_pics(0x0001);
        set_timer(mode, 1193);
        take_interrupt();
        const std::uint64_t event = pc.next_event(Pc::boot_processor).value();
        now = event;
        EXPECT_EQ(take_interrupt(), timer_vector);
        now = event - ahead;
        set_timer(mode, shortest);
        const std::optional<std::uint64_t> next = pc.next_event(Pc::boot_processor);
        ASSERT_TRUE(next.has_value()) << mode;
        EXPECT_GT(*next, event);
        EXPECT_LE(*next, event + ahead);
        EXPECT_EQ(predict_time(*next), timer_vector);
        now = *next;
        EXPECT_EQ(take_interrupt(), timer_vector);
    }
}

TEST_F(Prediction, AlarmOfTheClock) {
    initialize_pics(0x0104);
    for (const auto& [index, value] : {std::pair{0x01U, 0x03U}, {0x03U, 0x00U}, {0x05U, 0x00U}}) {
        out(0x70, index); // at 00:00:03
        out(0x71, value);
    }
    out(0x70, 0x0b);
    out(0x71, 0x22);
    const std::uint64_t event = pc.next_event(Pc::boot_processor).value();
    EXPECT_GT(event, start_time + (2 * second));
    EXPECT_EQ(predict_time(event - 1), std::nullopt);
    EXPECT_EQ(predict_time(event), slave_vector);
    EXPECT_EQ(predict_time(event + second), slave_vector);
    now = event;
    EXPECT_EQ(take_interrupt(), slave_vector);
    EXPECT_EQ(predict_time(event + second), std::nullopt); // the line stays up until C is read
    out(0x70, 0x0c);
    in(0x71);
    EXPECT_EQ(predict_time(event + second), std::nullopt);
    EXPECT_EQ(predict_time(event + (86'400 * second)), slave_vector);
}

TEST_F(Prediction, MaskedLines) {
    initialize_pics(0x0000);
    set_timer(2, 4773);
    enable_receiver();
    out(0x70, 0x0b);
    out(0x71, 0x12);
    EXPECT_EQ(predict_time(now + (2 * second)), std::nullopt);
    EXPECT_EQ(predict_input(), std::nullopt);
    out(0xa1, 0xfe); // the slave's, but not IRQ2
    EXPECT_EQ(predict_time(now + (2 * second)), std::nullopt);
    out(0x21, 0xfb);
    EXPECT_EQ(predict_time(now + (2 * second)), slave_vector);
    out(0x21, 0xef);
    EXPECT_EQ(predict_time(now + (2 * second)), std::nullopt);
    EXPECT_EQ(predict_input(), timer_vector + 4);
}

TEST_F(Prediction, AnInterruptInServiceKeepsLowerOnesAway) {
    initialize_pics(0x0011);
    set_timer(2, 4773);
    take_interrupt();
    enable_receiver();
    const std::uint64_t event = pc.next_event(Pc::boot_processor).value();
    EXPECT_EQ(predict_input(), timer_vector + 4);

    now = event;
    pc.advance(Pc::boot_processor, now);
    ASSERT_EQ(pc.pic.acknowledge(), timer_vector); // and not ended
    EXPECT_EQ(predict_input(), std::nullopt);
    EXPECT_EQ(predict_time(now + second), std::nullopt);
    out(0x20, 0x60);
    EXPECT_EQ(predict_input(), timer_vector + 4);

    ASSERT_TRUE(pc.uart.receive('x'));
    pc.update_lines();
    ASSERT_EQ(pc.pic.acknowledge(), timer_vector + 4);
    EXPECT_EQ(predict_time(now + second), timer_vector); // the higher one comes through
    EXPECT_EQ(predict_input(), std::nullopt);
}

TEST_F(Prediction, InputByWhatTheReceiverIsSetTo) {
    initialize_pics(0x0010);
    EXPECT_EQ(predict_input(), std::nullopt);
    out(0x3fb, 0x03);
    out(0x3f9, 0x01);
    EXPECT_EQ(predict_input(), std::nullopt); // OUT2 is off
    out(0x3fc, 0x08);
    for (unsigned character = 0; character < 256; ++character) {
        EXPECT_EQ(predict_input(static_cast<std::uint8_t>(character)), timer_vector + 4);
    }
    out(0x3fc, 0x18); // looped back
    EXPECT_EQ(predict_input(), std::nullopt);
    out(0x3fc, 0x08);
    out(0x3fa, 0xc1); // after 14 characters, or when none comes for long: which takes no time here
    for (unsigned i = 0; i < 2 * Uart16550::fifo_size; ++i) {
        predict_input();
        pc.uart.receive('x');
        pc.update_lines();
    }
    out(0x3f9, 0x04); // the line's errors alone: of a character that finds no room
    in(0x3fd);
    take_interrupt();
    EXPECT_EQ(predict_input(), timer_vector + 4);
    out(0x3fa, 0x03);
    EXPECT_EQ(predict_input(), std::nullopt);
}

// Time that has passed is the time now, as for advance().
TEST_F(Prediction, OfThePastIsThePresent) {
    initialize_pics(0x0001);
    set_timer(3, 0x1000);
    take_interrupt();
    now = pc.next_event(Pc::boot_processor).value() + Pit8254::Clock::time_of(0x900).value();
    pc.advance(Pc::boot_processor, now);
    for (const std::uint64_t when : {now, now - Pit8254::Clock::time_of(0x700).value(), std::uint64_t{0}}) {
        EXPECT_EQ(predict_time(when), std::nullopt) << when;
    }
}

// Whatever a guest has done.
class AnyState : public Prediction, public testing::WithParamInterface<std::uint32_t> {};

TEST_P(AnyState, IsPredicted) {
    constexpr std::uint16_t ports[] = {0x20, 0x21, 0xa0,  0xa1,  0x4d0, 0x4d1, 0x40,  0x43,
                                       0x70, 0x71, 0x3f8, 0x3f9, 0x3fa, 0x3fb, 0x3fc, 0x3fd};
    std::mt19937_64 random(GetParam());
    const auto is = [&](unsigned of) { return random() % of == 0; };
    unsigned interrupts = 0;
    initialize_pics(0xffff);
    for (unsigned step = 0; step < 10'000; ++step) {
        const std::uint16_t port = ports[random() % std::size(ports)];
        if (is(2)) {
            pc.write(port, 1, static_cast<std::uint32_t>(random()), now);
        } else {
            pc.read(port, 1, now);
        }
        if (is(4) && pc.pic.interrupt_requested()) {
            pc.pic.acknowledge();
            ++interrupts;
        }
        if (is(4)) {
            pc.uart.receive(static_cast<std::uint8_t>(random()));
            pc.uart.take_transmitted();
            pc.update_lines();
        }
        if (is(64)) {
            initialize_pics(0xffff);
        }
        predict_input(static_cast<std::uint8_t>(random()));
        predict_time(now + (random() % second));
        predict_time(now - (random() % now));
        predict_time(pc.next_event(Pc::boot_processor).value_or(now + (random() % 5000)));
        ASSERT_FALSE(HasFailure()) << step;
        now += is(8) ? random() % (second * 10) : random() % 5000;
        if (is(2)) {
            pc.advance(Pc::boot_processor, now);
        }
    }
    EXPECT_GT(interrupts, 100U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, AnyState, testing::Range(1U, 4U));

} // namespace
} // namespace previrt
