// SPDX-License-Identifier: BSD-2-Clause
// The monitor's own devices, and what a guest can do to the rings.
#include "monitor/kvm/privileged/devices.hpp"

#include <algorithm>
#include <cstdint>
#include <gtest/gtest.h>
#include <optional>
#include <string>

namespace previrt {

namespace {

constexpr std::uint32_t room = sizeof(monitored::ConsoleRing::bytes);
constexpr std::uint64_t second = 1'000'000'000;
constexpr std::uint8_t timer_vector = 0x30;
constexpr std::uint16_t uart = 0x3f8;

class OwnDevicesOfAGuest : public testing::Test {
protected:
    void SetUp() override { devices.start(1'767'225'600, 256ULL << 20U, now); }

    void out(std::uint16_t port, std::uint32_t value) {
        ASSERT_TRUE(devices.write(port, 1, value, now)) << port;
    }
    std::uint32_t in(std::uint16_t port) {
        const std::optional<std::uint32_t> value = devices.read(port, 1, now);
        EXPECT_TRUE(value) << port;
        return value.value_or(0xdead'beef);
    }

    void initialize_pics(std::uint8_t enabled) {
        for (const std::uint32_t value : {0x11U, 0x30U, 0x04U, 0x01U}) {
            out(value == 0x11U ? 0x20 : 0x21, value);
        }
        out(0x21, ~enabled & 0xffU);
    }

    void print(const std::string& text) {
        for (const char character : text) {
            out(uart, static_cast<std::uint8_t>(character));
        }
    }

    // What the reader finds.
    std::string take_output() {
        std::string text;
        while (output.consumed != output.produced && text.size() <= room) {
            text += output.bytes[output.consumed++ % room];
        }
        return text;
    }

    void type(const std::string& text) {
        for (const char character : text) {
            input.bytes[input.produced++ % room] = character;
        }
    }

    // What the guest finds.
    std::string read_characters() {
        std::string text;
        while ((in(uart + 5) & 1U) != 0) {
            text += static_cast<char>(in(uart));
        }
        return text;
    }

    // Nothing but bytes and our own counter is written.
    static void is_whole(const monitored::ConsoleRing& ring) {
        EXPECT_TRUE(std::ranges::all_of(ring.reserved, [](std::uint32_t value) { return value == 0; }));
        EXPECT_TRUE(std::ranges::all_of(ring.reserved2, [](std::uint32_t value) { return value == 0; }));
    }

    monitored::ConsoleRing output{};
    monitored::ConsoleRing input{};
    unsigned calls = 0;
    OwnDevices devices{output, input, [this] { ++calls; }};
    std::uint64_t now = second;
};

TEST_F(OwnDevicesOfAGuest, PrintThroughTheUart) {
    out(uart + 3, 0x03);
    devices.look(now);
    EXPECT_EQ(calls, 0U);
    print("hello");
    EXPECT_EQ(take_output(), "");
    devices.look(now);
    EXPECT_EQ(calls, 1U);
    EXPECT_EQ(take_output(), "hello");
    devices.look(now);
    EXPECT_EQ(calls, 1U);
    for (unsigned i = 0; i < room; ++i) { // and around
        const std::string text = std::to_string(i) + "\n";
        print(text);
        devices.look(now);
        ASSERT_EQ(take_output(), text);
    }
    is_whole(output);
}

TEST_F(OwnDevicesOfAGuest, KeepWhatFindsNoRoom) {
    out(uart + 3, 0x03);
    std::string printed;
    for (unsigned i = 0; i < room; i += 128) {
        print(std::string(128, static_cast<char>('a' + (i / 128 % 26))));
        printed += std::string(128, static_cast<char>('a' + (i / 128 % 26)));
        devices.look(now);
    }
    const unsigned before = calls;
    print("more");
    devices.look(now);
    EXPECT_EQ(calls, before);
    EXPECT_EQ(take_output(), printed);
    devices.look(now);
    EXPECT_EQ(take_output(), "more");
    EXPECT_EQ(calls, before + 1);
}

TEST_F(OwnDevicesOfAGuest, InterruptForInput) {
    initialize_pics(0x10);
    out(uart + 3, 0x03);
    out(uart + 4, 0x08);
    out(uart + 1, 0x01);
    devices.look(now);
    EXPECT_FALSE(devices.interrupt_requested());
    type("abc");
    devices.look(now);
    ASSERT_TRUE(devices.interrupt_requested());
    EXPECT_EQ(devices.acknowledge(), timer_vector + 4);
    EXPECT_EQ(input.consumed, 1U); // there is no FIFO yet
    EXPECT_EQ(read_characters(), "a");
    out(uart + 2, 0x01);
    const std::string text = "0123456789abcdefghijklmnopqrstuvwxyz";
    type(text);
    std::string read;
    for (unsigned i = 0; i < 3; ++i) {
        devices.look(now);
        read += read_characters();
    }
    EXPECT_EQ(read, "bc" + text);
    EXPECT_EQ(input.consumed, input.produced);
    is_whole(input);
}

// Each gives one FIFO at a time, whatever is claimed, and nothing that hangs.
TEST_F(OwnDevicesOfAGuest, InputCountersThatLie) {
    out(uart + 3, 0x03);
    out(uart + 2, 0x01);
    std::ranges::fill(input.bytes, 'x');
    for (const std::uint32_t consumed : {0U, 1U, 4095U, 4096U, 0x7fffffffU, 0xfffffffeU}) {
        for (const std::uint32_t ahead : {1U, 16U, room, room + 1, 0x80000000U, 0xffffffffU}) {
            input.consumed = consumed;
            input.produced = consumed + ahead;
            devices.look(now);
            const std::uint32_t taken = std::min(ahead, Uart16550::fifo_size);
            EXPECT_EQ(input.consumed, consumed + taken);
            EXPECT_EQ(input.produced, consumed + ahead);
            EXPECT_EQ(read_characters(), std::string(taken, 'x'));
        }
    }
    is_whole(input);
}

TEST_F(OwnDevicesOfAGuest, OutputCountersThatLie) {
    out(uart + 3, 0x03);
    for (const std::uint32_t produced : {0U, 1U, 4095U, 4096U, 0x7fffffffU, 0xfffffffeU}) {
        for (const std::uint32_t behind : {0U, 1U, room - 1, room, room + 1, 0x80000000U, 0xffffffffU}) {
            output.produced = produced;
            output.consumed = produced - behind;
            print("text");
            devices.look(now);
            const std::uint32_t given = behind < room ? std::min(room - behind, 4U) : 0;
            EXPECT_EQ(output.produced, produced + given);
            EXPECT_EQ(output.consumed, produced - behind);
            output.consumed = output.produced; // an honest one again, for what is left
            devices.look(now);
            EXPECT_EQ(output.produced, produced + 4);
        }
    }
    is_whole(output);
}

TEST_F(OwnDevicesOfAGuest, Tick) {
    EXPECT_EQ(devices.deadline(now), kvm_privileged::never); // all are masked
    initialize_pics(0x01);
    out(0x43, 0x34);
    out(0x40, 4773 & 0xff);
    out(0x40, 4773 >> 8);
    devices.look(now);
    while (devices.interrupt_requested()) { // the firmware's
        EXPECT_EQ(devices.acknowledge(), timer_vector);
        out(0x20, 0x60);
    }
    for (unsigned tick = 0; tick < 10; ++tick) {
        const std::uint64_t deadline = devices.deadline(now);
        ASSERT_GT(deadline, now);
        ASSERT_LT(deadline, now + (second / 200));
        devices.look(deadline - 1);
        EXPECT_FALSE(devices.interrupt_requested());
        now = deadline;
        EXPECT_FALSE(devices.interrupt_requested()); // by a look alone
        devices.look(now);
        ASSERT_TRUE(devices.interrupt_requested());
        EXPECT_EQ(devices.acknowledge(), timer_vector);
        EXPECT_FALSE(devices.interrupt_requested());
        out(0x20, 0x60);
    }
    out(0x43, 0x30); // one shot
    out(0x40, 100);
    out(0x40, 0);
    now = devices.deadline(now);
    devices.look(now);
    EXPECT_TRUE(devices.interrupt_requested());
    EXPECT_EQ(devices.deadline(now), kvm_privileged::never);
}

TEST_F(OwnDevicesOfAGuest, ResetByTheKeyboardController) {
    EXPECT_FALSE(devices.reset_requested());
    out(0x64, 0xff);
    EXPECT_FALSE(devices.reset_requested());
    out(0x64, 0xfe);
    EXPECT_TRUE(devices.reset_requested());
}

TEST_F(OwnDevicesOfAGuest, ResetByTheChipSet) {
    out(0xcf9, 0x02);
    EXPECT_FALSE(devices.reset_requested());
    out(0xcf9, 0x06);
    EXPECT_TRUE(devices.reset_requested());
}

TEST_F(OwnDevicesOfAGuest, WhatIsNotModelledIsRefused) {
    EXPECT_FALSE(devices.read(0x5654, 4, now));
    EXPECT_FALSE(devices.write(0x5654, 4, 1, now));
    EXPECT_FALSE(devices.read(0x20, 3, now));
}

TEST_F(OwnDevicesOfAGuest, TellTheLinesToKvm) {
    devices.lead_lines_to_kvm();
    devices.look(now);
    (void)devices.take_rises();
    EXPECT_EQ(devices.lines() >> Pc::uart_irq & 1U, 0U);
    out(uart + 4, 8); // the line passes OUT2
    out(uart + 1, 2); // an interrupt when the transmitter is empty
    EXPECT_EQ(devices.lines() >> Pc::uart_irq & 1U, 1U);
    EXPECT_EQ(devices.take_rises(), 0U);
    EXPECT_FALSE(devices.interrupt_requested());
    in(uart + 2); // identifies it
    EXPECT_EQ(devices.lines() >> Pc::uart_irq & 1U, 0U);
}

TEST_F(OwnDevicesOfAGuest, TellOfEachTickAlthoughTheLineIsAsBefore) {
    devices.lead_lines_to_kvm();
    for (const std::uint32_t value : {0x34U, 100U, 0U}) { // counter 0, mode 2
        out(value == 0x34U ? 0x43 : 0x40, value);
    }
    devices.look(now);
    (void)devices.take_rises();
    const std::uint64_t tick = devices.deadline(now);
    ASSERT_LT(tick, now + second);
    const std::uint32_t before = devices.lines();
    devices.look(tick + 1000);
    EXPECT_EQ(devices.lines(), before);
    EXPECT_EQ(devices.take_rises(), 1U << Pc::timer_irq);
    EXPECT_EQ(devices.take_rises(), 0U);
}

} // namespace

} // namespace previrt
