// SPDX-License-Identifier: BSD-2-Clause
#include "devices/platform/absent_ports.hpp"
#include "tests/unit/devices/platform.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <random>
#include <utility>

namespace previrt {
namespace {

TEST_F(Platform, IsSilentAsFirmwareLeavesIt) {
    EXPECT_FALSE(pc.next_event(Pc::boot_processor).has_value());
    now += 100 * second;
    EXPECT_EQ(take_interrupt(), std::nullopt);
    EXPECT_EQ(pc.request, Request::none);
}

TEST_F(Platform, PeriodicTickOfLinux) {
    initialize_pics(0x0001);
    take_interrupt(); // the firmware's timer may have left one
    out(0x43, 0x34);
    out(0x40, 4773 & 0xff);
    out(0x40, 4773 >> 8);
    const std::uint64_t first = now;
    for (unsigned tick = 0; tick < 250; ++tick) {
        sleep();
        ASSERT_EQ(take_interrupt(), timer_vector) << tick;
        ASSERT_EQ(take_interrupt(), std::nullopt) << tick;
    }
    EXPECT_NEAR(static_cast<double>(now - first), 1e9, 1e5);
    EXPECT_EQ(pc.lost_timer_edges, 0U);
}

TEST_F(Platform, LostTicksAreCounted) {
    initialize_pics(0x0001);
    out(0x43, 0x34);
    out(0x40, 4773 & 0xff);
    out(0x40, 4773 >> 8);
    take_interrupt();
    const std::uint64_t before = pc.timer_edges;
    now += second;
    pc.advance(Pc::boot_processor, now);
    EXPECT_EQ(pc.timer_edges - before, 249U);
    EXPECT_EQ(pc.lost_timer_edges, 248U);
    EXPECT_EQ(take_interrupt(), timer_vector);
    EXPECT_EQ(take_interrupt(), std::nullopt);
    pc.advance(Pc::boot_processor, now - second); // a clock that steps back does no harm
    EXPECT_EQ(pc.timer_edges - before, 249U);
}

// In mode 3 the line falls again in the middle of the period, and takes the request with it.
TEST_F(Platform, ATickNotTakenInTimeIsLost) {
    initialize_pics(0x0001);
    out(0x43, 0x36);
    out(0x40, 0x00);
    out(0x40, 0x10);
    take_interrupt();
    sleep();
    pc.advance(Pc::boot_processor, now);
    EXPECT_TRUE(pc.pic.interrupt_requested());
    const std::uint64_t before = pc.lost_timer_edges;
    now += Pit8254::Clock::time_of(0x900).value();
    EXPECT_EQ(take_interrupt(), std::nullopt);
    EXPECT_EQ(pc.lost_timer_edges, before + 1);
    sleep();
    EXPECT_EQ(take_interrupt(), timer_vector);
    EXPECT_EQ(pc.lost_timer_edges, before + 1);
    now += Pit8254::Clock::time_of(0x1900).value(); // an edge and its end, unseen
    EXPECT_EQ(take_interrupt(), std::nullopt);
    EXPECT_EQ(pc.lost_timer_edges, before + 2);
}

// Mode 4, a count per event, as Linux has it without a better timer.
TEST_F(Platform, OneShotTimerOfLinux) {
    initialize_pics(0x0001);
    out(0x43, 0x38);
    take_interrupt();
    EXPECT_FALSE(pc.next_event(Pc::boot_processor).has_value());
    for (const std::uint32_t ticks : {0xfU, 1193U, 0x7fffU}) {
        out(0x40, ticks & 0xffU);
        out(0x40, ticks >> 8U);
        const std::uint64_t armed = now;
        sleep();
        EXPECT_EQ(Pit8254::Clock::cycles(now) - Pit8254::Clock::cycles(armed), ticks + 2);
        EXPECT_EQ(take_interrupt(), timer_vector);
        EXPECT_FALSE(pc.next_event(Pc::boot_processor).has_value());
    }
}

TEST_F(Platform, AShutDownTimerStaysSilent) {
    initialize_pics(0x0001);
    out(0x43, 0x34);
    out(0x40, 100);
    out(0x40, 0);
    for (const auto& [port, value] :
         {std::pair<std::uint16_t, std::uint8_t>{0x43, 0x30}, {0x40, 0}, {0x40, 0}, {0x43, 0x30}}) {
        out(port, value);
    }
    EXPECT_EQ(take_interrupt(), std::nullopt);
    EXPECT_FALSE(pc.next_event(Pc::boot_processor).has_value());
}

TEST_F(Platform, AMaskedTimerWakesNobodyAndIsNotForgotten) {
    initialize_pics(0x0000);
    out(0x43, 0x30);
    out(0x40, 100);
    out(0x40, 0);
    EXPECT_FALSE(pc.next_event(Pc::boot_processor).has_value());
    now += second;
    out(0x21, 0xfe);
    EXPECT_EQ(take_interrupt(), timer_vector);
}

// Linux's first measure of the TSC: counter 2 in mode 0, its high byte watched as it falls.
TEST_F(Platform, CounterMsbFallsAtItsRate) {
    out(0x61, (in(0x61) & ~0x02U) | 0x01U);
    out(0x43, 0xb0);
    out(0x42, 0xff);
    out(0x42, 0xff);
    const auto msb = [this] {
        now += microsecond;
        in(0x42);
        now += microsecond;
        return in(0x42);
    };
    msb();
    const auto time_of_change = [&](std::uint32_t value) {
        unsigned seen = 0;
        while (msb() == value) {
            ++seen;
        }
        EXPECT_GT(seen, 50U);
        return now;
    };
    const std::uint64_t first = time_of_change(0xff);
    std::uint64_t last = first;
    for (std::uint32_t value = 0xfe; value > 0x80; --value) {
        last = time_of_change(value);
    }
    const double ticks = 256.0 * (0xfe - 0x80);
    EXPECT_NEAR(static_cast<double>(last - first), ticks * 1e9 / 1'193'182, 3.0 * microsecond);
}

// Its second: 10 ms in counter 2, awaited in port 0x61.
TEST_F(Platform, Port61ShowsTheEndOfCounter2) {
    constexpr std::uint32_t latch = 11'932;
    out(0x61, (in(0x61) & ~0x02U) | 0x01U);
    out(0x43, 0xb0);
    out(0x42, latch & 0xffU);
    out(0x42, latch >> 8U);
    const std::uint64_t first = now;
    while ((in(0x61) & 0x20U) == 0) {
        ASSERT_EQ(in(0x61) & 0xefU, 0x01U);
        now += microsecond;
        ASSERT_LT(now - first, second);
    }
    EXPECT_EQ(in(0x61) & 0xefU, 0x21U);
    EXPECT_NEAR(static_cast<double>(now - first), 1e7, 2000);
}

TEST_F(Platform, Port61GatesCounter2) {
    out(0x43, 0xb0);
    out(0x42, 100);
    out(0x42, 0);
    now += second;
    EXPECT_EQ(in(0x61) & 0x2fU, 0x00U);
    out(0x61, 0xff);
    now += second;
    EXPECT_EQ(in(0x61) & 0xefU, 0x2fU);
    unsigned changes = 0;
    for (std::uint32_t before = in(0x61) & 0x10U; now < start_time + (3 * second);
         now += 100 * microsecond / 99) {
        const std::uint32_t refresh = in(0x61) & 0x10U;
        ASSERT_EQ(in(0x61) & 0xcfU, 0x0fU);
        changes += refresh != before ? 1 : 0;
        before = refresh;
        if (changes == 100) {
            break;
        }
    }
    EXPECT_EQ(changes, 100U);
    EXPECT_NEAR(static_cast<double>(now - start_time - (2 * second)), 100 * 15085.0, 16000);
}

TEST_F(Platform, ClockInterruptsByIrq8) {
    initialize_pics(0x0104);
    out(0x70, 0x0b);
    out(0x71, 0x12); // update ended, 24 hours
    for (unsigned i = 1; i <= 3; ++i) {
        sleep();
        EXPECT_LE(start_time + (i * second) - now, 30'518U) << i; // a cycle of its crystal
        EXPECT_EQ(take_interrupt(), slave_vector);
        EXPECT_EQ(take_interrupt(), std::nullopt); // the line stays up until C is read
        out(0x70, 0x0c);
        EXPECT_EQ(in(0x71) & 0x90U, 0x90U);
    }
    out(0x70, 0x00);
    EXPECT_EQ(in(0x71), 0x03U);
}

TEST_F(Platform, TheEarlierOfTwoEventsComesFirst) {
    initialize_pics(0x0105);
    out(0x70, 0x0b);
    out(0x71, 0x12);
    out(0x43, 0x30);
    out(0x40, 0x00);
    out(0x40, 0x40);
    sleep();
    EXPECT_EQ(take_interrupt(), timer_vector);
    sleep();
    EXPECT_EQ(take_interrupt(), slave_vector);
}

TEST_F(Platform, ConsoleInterruptsByIrq4) {
    initialize_pics(0x0010);
    out(0x3fc, 0x08);
    out(0x3f9, 0x03);
    EXPECT_EQ(take_interrupt(), timer_vector + 4); // the transmitter is empty
    EXPECT_EQ(in(0x3fa), 0x02U);
    EXPECT_EQ(take_interrupt(), std::nullopt);
    out(0x3fb, 0x03);
    EXPECT_TRUE(pc.uart.receive('x'));
    pc.update_lines();
    EXPECT_EQ(take_interrupt(), timer_vector + 4);
    EXPECT_EQ(in(0x3f8), 'x');
    out(0x3f8, 'y');
    EXPECT_EQ(pc.uart.take_transmitted(), 'y');
}

TEST_F(Platform, WhatNobodyAnswersIsToldFromWhatIsNotModelled) {
    constexpr std::uint16_t nobodys[] = {0x1234, 0xde15, 0xffff, 0x3f7};
    for (const std::uint16_t port : nobodys) {
        EXPECT_FALSE(pc.read(port, 1, now));
        EXPECT_FALSE(pc.write(port, 1, 0, now));
        EXPECT_FALSE(pc.claims_port(port, 1));
    }
    EXPECT_FALSE(pc.claims_port(0xffff, 4));
    EXPECT_FALSE(pc.read(0xffff, 4, now));
    constexpr std::uint16_t devices[] = {0x20, 0x43, 0x60, 0x70, 0x80, 0x92, 0xcf9, 0xcfc, 0x3f8, 0x2f8};
    for (const std::uint16_t port : devices) {
        EXPECT_TRUE(pc.claims_port(port, 1)) << port;
    }
    // The last register of COM1 and the port behind it.
    EXPECT_TRUE(pc.claims_port(0x3ff, 2));
    EXPECT_TRUE(pc.write(0x3ff, 2, 0x125a, now));
    EXPECT_EQ(pc.read(0x3ff, 2, now), 0xff5aU);
    EXPECT_EQ(pc.read(0x3ff, 4, now), 0xffffff5aU);

    EXPECT_FALSE(pc.claims_memory(LocalApic::place, 4)); // there is none
    pc.start_apics(1);
    EXPECT_TRUE(pc.claims_memory(LocalApic::place, 8));
    EXPECT_TRUE(pc.claims_memory(LocalApic::place - 7, 8));
    EXPECT_FALSE(pc.claims_memory(LocalApic::place - 8, 8));
    EXPECT_TRUE(pc.claims_memory(LocalApic::place + LocalApic::place_bytes - 1, 1));
    EXPECT_FALSE(pc.claims_memory(LocalApic::place + LocalApic::place_bytes, 1));
    EXPECT_FALSE(pc.claims_memory(~std::uint64_t{0}, 8));
}

// pci_check_type1 of Linux, and what follows.
TEST_F(Platform, PciMechanism1IsFound) {
    out(0xcfb, 0x01);
    const std::uint32_t before = in(0xcf8, 4);
    out(0xcf8, 0x8000'0000, 4);
    EXPECT_EQ(in(0xcf8, 4), 0x8000'0000U);
    EXPECT_EQ(in(0xcfc, 2), 0x8086U);
    out(0xcf8, 0x8000'0008, 4);
    EXPECT_EQ(in(0xcfe, 2), 0x0600U);
    EXPECT_EQ(in(0xcff), 0x06U);
    out(0xcf8, before, 4);
    EXPECT_EQ(in(0xcfc, 4), 0xffff'ffffU);
}

// The test for mechanism 2 reads back zeroes that it wrote as bytes.
TEST_F(Platform, PciMechanism2IsNotFound) {
    out(0xcfb, 0x00);
    out(0xcf8, 0x00);
    out(0xcfa, 0x00);
    EXPECT_NE(in(0xcf8), 0U);
    EXPECT_NE(in(0xcfa), 0U);
}

TEST_F(Platform, BytesOfConfigAddressDoNotReachIt) {
    out(0xcf8, 0x8000'0000, 4);
    out(0xcf8, 0x1234, 2);
    EXPECT_EQ(in(0xcf8, 4), 0x8000'0000U);
    EXPECT_EQ(in(0xcf8, 2), 0x02ffU); // the high byte has met the reset control register
}

TEST_F(Platform, ResetsByEveryRoute) {
    const auto resets = [this](auto action) {
        pc.request = Request::none;
        action();
        return pc.request == Request::reset;
    };
    EXPECT_TRUE(resets([this] { out(0x64, 0xfe); }));
    EXPECT_FALSE(resets([this] { out(0x64, 0xff); }));
    EXPECT_TRUE(resets([this] { out(0x64, 0xf0); }));
    EXPECT_FALSE(resets([this] { out(0x64, 0xf1); }));
    EXPECT_FALSE(resets([this] { out(0x64, 0xee); }));
    EXPECT_TRUE(resets([this] { out(0x92, 0x03); }));
    EXPECT_FALSE(resets([this] { out(0x92, 0x03); })); // no edge
    EXPECT_FALSE(resets([this] { out(0x92, 0x02); }));
    EXPECT_FALSE(resets([this] { out(0xcf9, 0x02); }));
    EXPECT_TRUE(resets([this] { out(0xcf9, 0x06); }));
    EXPECT_FALSE(resets([this] { out(0xcf9, 0x06); }));
    EXPECT_EQ(in(0xcf9), 0x06U);
    EXPECT_TRUE(resets([this] {
        out(0x64, 0xd1);
        out(0x60, 0xde);
    }));
    EXPECT_FALSE(resets([this] { out(0x60, 0xde); })); // data for a keyboard that is not there
}

TEST_F(Platform, A20CannotBeSwitchedOff) {
    EXPECT_FALSE(pc.write(0x92, 1, 0x00, now));
    EXPECT_FALSE(pc.write(0x64, 1, 0xdd, now));
    out(0x64, 0xd1);
    EXPECT_FALSE(pc.write(0x60, 1, 0x01, now));
    out(0x64, 0xd1); // and as Linux's boot code switches it on
    out(0x60, 0xdf);
    out(0x92, (in(0x92) | 0x02U) & ~0x01U);
    EXPECT_EQ(pc.request, Request::none);
}

TEST_F(Platform, KeyboardControllerHasNoAnswer) {
    EXPECT_EQ(in(0x64) & 0x03U, 0U); // neither buffer full
    out(0x64, 0xaa);                 // self-test
    EXPECT_EQ(in(0x64) & 0x0bU, 0x08U);
    EXPECT_EQ(in(0x60), 0U);
    out(0x60, 0xff);
    EXPECT_EQ(in(0x64) & 0x0bU, 0U);
}

TEST_F(Platform, AbsentPortsFloat) {
    for (const std::uint16_t port :
         std::initializer_list<std::uint16_t>{0x2f8, 0x2ff, 0x3e8, 0x2ef, 0x87, 0xed}) {
        EXPECT_EQ(in(port), 0xffU);
        out(port, 0x00);
        EXPECT_EQ(in(port), 0xffU);
    }
    EXPECT_STREQ(find_absent(0x2f9)->name, "COM2");
    for (unsigned port = 0; port <= 0xffff; ++port) {
        const bool dma_page = port >= 0x81 && port <= 0x8f;
        const bool com = (port & ~7U) == 0x2f8 || (port & ~7U) == 0x3e8 || (port & ~7U) == 0x2e8;
        ASSERT_EQ(find_absent(static_cast<std::uint16_t>(port)) != nullptr, dma_page || com || port == 0xed);
    }
    out(0x80, 0x55);
    EXPECT_EQ(in(0x80), 0x55U);
}

TEST_F(Platform, WhatIsNotModelledIsRefused) {
    for (const std::uint16_t port : std::initializer_list<std::uint16_t>{
             0x00, 0x1f, 0x22, 0x44, 0x62, 0x72, 0xf0, 0x378, 0x400, 0x4d2, 0xd00, 0xffff}) {
        EXPECT_FALSE(pc.read(port, 1, now).has_value()) << std::hex << port;
        EXPECT_FALSE(pc.write(port, 1, 0, now)) << std::hex << port;
    }
    EXPECT_FALSE(pc.read(0x20, 3, now).has_value());
    EXPECT_FALSE(pc.read(0x20, 0, now).has_value());
    EXPECT_FALSE(pc.write(0x20, 8, 0, now));
    EXPECT_FALSE(pc.read(0xffff, 2, now).has_value());
    EXPECT_EQ(pc.read(0xcff, 2, now).value_or(0) >> 8U, 0xffU); // its second byte is nobody's
    EXPECT_TRUE(pc.write(0x71, 4, 0, now));
}

TEST_F(Platform, WideAccessesAreSplit) {
    out(0x70, 0x5a0e, 2); // index and value
    out(0x70, 0x0e);
    EXPECT_EQ(in(0x71), 0x5aU);
    out(0x20, 0xff11, 2);
    EXPECT_EQ(pc.pic.master.icw2, 0xff);
    out(0x3fb, 0x03);
    out(0x3fe, 0xa500, 2);
    EXPECT_EQ(in(0x3fc, 4), 0xa5b0'6000U);
    EXPECT_EQ(in(0x2f8, 4), 0xffff'ffffU);
}

// A snapshot is the bytes.
TEST_F(Platform, ACopyGoesOnAlike) {
    initialize_pics(0x0001);
    out(0x43, 0x34);
    out(0x40, 0x00);
    out(0x40, 0x10);
    now += 12'345;
    take_interrupt();
    const auto copy = std::make_unique<Pc>();
    std::memcpy(copy.get(), &pc, sizeof(Pc));
    EXPECT_EQ(copy->next_event(Pc::boot_processor), pc.next_event(Pc::boot_processor));
    now += second;
    pc.advance(Pc::boot_processor, now);
    copy->advance(Pc::boot_processor, now);
    EXPECT_EQ(copy->timer_edges, pc.timer_edges);
    EXPECT_EQ(copy->read(0x40, 1, now), pc.read(0x40, 1, now));
}

// Whatever a guest does: no undefined behaviour (sanitizers), events lie ahead, and one that is announced
// comes.
class AnyGuest : public Platform, public testing::WithParamInterface<std::uint32_t> {};

TEST_P(AnyGuest, FindsAPlatformThatHolds) {
    constexpr std::uint16_t ports[] = {0x20,  0x21,  0xa0,  0xa1,  0x4d0, 0x4d1, 0x40,  0x41,
                                       0x42,  0x43,  0x61,  0x64,  0x60,  0x70,  0x71,  0x80,
                                       0x92,  0x3f8, 0x3f9, 0x3fa, 0x3fb, 0x3fc, 0x3fd, 0x3fe,
                                       0x3ff, 0xcf8, 0xcf9, 0xcfc, 0xcfd, 0xcfe, 0xcff, 0x2f8};
    constexpr unsigned widths[] = {1, 1, 1, 1, 2, 4};
    std::mt19937_64 random(GetParam());
    unsigned announced = 0;
    for (unsigned step = 0; step < 20'000; ++step) {
        const std::uint16_t port = ports[random() % std::size(ports)];
        const unsigned width = widths[random() % std::size(widths)];
        const auto value = static_cast<std::uint32_t>(random());
        const auto chance = random() % 16;
        if (chance < 8) {
            pc.write(port, width, value, now);
        } else if (chance < 12) {
            pc.read(port, width, now);
        } else if (chance == 12) {
            pc.uart.receive(static_cast<std::uint8_t>(value));
            pc.uart.take_transmitted();
            pc.update_lines();
        } else if (chance == 13 && pc.pic.interrupt_requested()) {
            pc.pic.acknowledge();
        } else {
            pc.advance(Pc::boot_processor, now);
            const std::optional<std::uint64_t> event = pc.next_event(Pc::boot_processor);
            if (event) {
                ASSERT_GT(*event, now);
                const bool by_timer = pc.pic.enabled(Pc::timer_irq) && pc.pit.next_edge(now) == event;
                const std::uint64_t edges = pc.timer_edges;
                pc.advance(Pc::boot_processor, *event - 1);
                ASSERT_TRUE(by_timer ? pc.timer_edges == edges : !pc.rtc.line(*event - 1));
                pc.advance(Pc::boot_processor, *event);
                ASSERT_TRUE(by_timer ? pc.timer_edges == edges + 1 : pc.rtc.line(*event));
                now = *event;
                ++announced;
            }
        }
        now += random() % 4 == 0 ? random() % (second * 100) : random() % 5000;
    }
    EXPECT_GT(announced, 50U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, AnyGuest, testing::Range(1U, 4U));

} // namespace
} // namespace previrt
