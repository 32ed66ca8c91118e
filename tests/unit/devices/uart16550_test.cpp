// SPDX-License-Identifier: BSD-2-Clause
#include "devices/uart16550/uart16550.hpp"

#include <gtest/gtest.h>
#include <string>
#include <utility>

namespace previrt {
namespace {

constexpr std::uint16_t data = 0x3f8;
constexpr std::uint16_t ier = 0x3f9;
constexpr std::uint16_t iir = 0x3fa;
constexpr std::uint16_t fcr = 0x3fa;
constexpr std::uint16_t lcr = 0x3fb;
constexpr std::uint16_t mcr = 0x3fc;
constexpr std::uint16_t lsr = 0x3fd;
constexpr std::uint16_t msr = 0x3fe;
constexpr std::uint16_t scr = 0x3ff;

constexpr std::uint8_t none = 0x01;
constexpr std::uint8_t transmitter_empty = 0x02;
constexpr std::uint8_t received_data = 0x04;
constexpr std::uint8_t line_status = 0x06;
constexpr std::uint8_t timeout = 0x0c;
constexpr std::uint8_t fifos = 0xc0;
constexpr std::uint8_t out2 = 0x08;
constexpr std::uint8_t loop = 0x10;

class Serial : public testing::Test {
protected:
    void SetUp() override { uart.write(lcr, 0x03); } // 8 bits

    void fifo(std::uint8_t trigger = 0x00) { uart.write(fcr, 0x01 | trigger); }

    std::string taken() {
        std::string text;
        while (const std::optional<std::uint8_t> byte = uart.take_transmitted()) {
            text += static_cast<char>(*byte);
        }
        return text;
    }

    Uart16550 uart;
};

TEST_F(Serial, Reset) {
    const Uart16550 fresh;
    Uart16550 read = fresh;
    EXPECT_EQ(read.read(ier), 0);
    EXPECT_EQ(read.read(iir), none);
    EXPECT_EQ(read.read(lcr), 0);
    EXPECT_EQ(read.read(mcr), 0);
    EXPECT_EQ(read.read(lsr), 0x60);
    EXPECT_EQ(read.read(msr), 0xb0);
    EXPECT_FALSE(fresh.line());
}

TEST_F(Serial, DivisorLatchHidesDataAndIer) {
    uart.write(ier, 0x05);
    uart.write(lcr, 0x83);
    uart.write(data, 0x01);
    uart.write(ier, 0x02);
    EXPECT_EQ(uart.read(data), 0x01);
    EXPECT_EQ(uart.read(ier), 0x02);
    uart.write(lcr, 0x03);
    EXPECT_EQ(uart.read(ier), 0x05);
    EXPECT_EQ(taken(), "");
}

// How 8250_port.c finds out what it has before it.
TEST_F(Serial, IsFoundByLinuxAsA16550a) {
    uart.write(ier, 0);
    EXPECT_EQ(uart.read(ier), 0);
    uart.write(ier, 0xff);
    EXPECT_EQ(uart.read(ier), 0x0f);
    uart.write(ier, 0);
    uart.write(mcr, loop | 0x0a);
    EXPECT_EQ(uart.read(msr) & 0xf0U, 0x90);
    uart.write(mcr, 0);
    uart.write(lcr, 0xbf); // another chip would have its EFR here
    uart.write(fcr, 0);
    uart.write(lcr, 0);
    uart.write(fcr, 0x01);
    EXPECT_EQ(uart.read(iir) >> 6U, 3);
    uart.write(fcr, 0x21); // a 16750 would have 64 bytes
    EXPECT_EQ(uart.read(iir) >> 5U, 6);
    uart.write(scr, 0xa5);
    EXPECT_EQ(uart.read(scr), 0xa5);
}

TEST_F(Serial, LoopbackCountsAFifoOf16) {
    uart.write(fcr, 0x07);
    uart.write(mcr, loop);
    for (unsigned i = 0; i < 256; ++i) {
        uart.write(data, static_cast<std::uint8_t>(i));
    }
    EXPECT_EQ(uart.read(lsr) & 0x03U, 0x03); // data, and an overrun
    for (unsigned i = 0; i < 16; ++i) {
        ASSERT_EQ(uart.read(lsr) & 0x01U, 0x01);
        ASSERT_EQ(uart.read(data), i);
    }
    EXPECT_EQ(uart.read(lsr) & 0x01U, 0);
    EXPECT_EQ(taken(), ""); // nothing leaves the chip
}

// Linux tests twice that the interrupt comes whenever it is enabled with the transmitter idle.
TEST_F(Serial, TransmitterInterruptIsReassertedWhenEnabled) {
    uart.write(mcr, out2);
    for (unsigned round = 0; round < 2; ++round) {
        uart.write(ier, 0x02);
        EXPECT_TRUE(uart.line());
        EXPECT_EQ(uart.read(iir), transmitter_empty);
        EXPECT_FALSE(uart.line());
        EXPECT_EQ(uart.read(iir), none);
        uart.write(ier, 0x00);
    }
}

TEST_F(Serial, TransmitterInterruptAfterEveryCharacter) {
    uart.write(mcr, out2);
    uart.write(ier, 0x02);
    uart.read(iir);
    uart.write(data, 'a');
    EXPECT_TRUE(uart.line());
    EXPECT_EQ(uart.read(iir), transmitter_empty);
    EXPECT_EQ(uart.read(lsr), 0x60);
    EXPECT_EQ(taken(), "a");
    EXPECT_FALSE(uart.line());
}

TEST_F(Serial, TransmitterFillsUpAndDrains) {
    fifo();
    uart.write(mcr, out2);
    uart.write(ier, 0x02);
    std::string sent;
    while ((uart.read(lsr) & 0x20U) != 0) {
        for (unsigned i = 0; i < 16; ++i) { // as a driver does: a FIFO full without looking again
            sent += static_cast<char>('A' + (sent.size() % 26));
            uart.write(data, static_cast<std::uint8_t>(sent.back()));
        }
    }
    EXPECT_EQ(sent.size(), Uart16550::transmit_size);
    EXPECT_EQ(uart.read(lsr) & 0x60U, 0);
    EXPECT_FALSE(uart.line());
    uart.write(data, '!'); // a driver that does not look loses it
    for (unsigned i = 0; i < 15; ++i) {
        ASSERT_EQ(uart.take_transmitted(), static_cast<std::uint8_t>(sent[i]));
    }
    EXPECT_FALSE(uart.line());
    EXPECT_EQ(uart.take_transmitted(), static_cast<std::uint8_t>(sent[15]));
    EXPECT_TRUE(uart.line());
    EXPECT_EQ(uart.read(iir), fifos | transmitter_empty);
    EXPECT_EQ(taken(), sent.substr(16));
    EXPECT_EQ(uart.read(lsr) & 0x60U, 0x60);
}

TEST_F(Serial, WordLengthCutsCharacters) {
    uart.write(lcr, 0x02); // 7 bits
    uart.write(data, 0xc1);
    EXPECT_EQ(taken(), "A");
    EXPECT_TRUE(uart.receive(0xc1));
    EXPECT_EQ(uart.read(data), 'A');
}

TEST_F(Serial, ReceivesWithoutFifo) {
    uart.write(mcr, out2);
    uart.write(ier, 0x01);
    EXPECT_TRUE(uart.can_receive());
    EXPECT_TRUE(uart.receive('x'));
    EXPECT_FALSE(uart.can_receive());
    EXPECT_TRUE(uart.line());
    EXPECT_EQ(uart.read(iir), received_data);
    EXPECT_EQ(uart.read(lsr), 0x61);
    EXPECT_EQ(uart.read(data), 'x');
    EXPECT_FALSE(uart.line());
    EXPECT_EQ(uart.read(lsr), 0x60);
    EXPECT_EQ(uart.read(data), 0);
}

TEST_F(Serial, OverrunWithoutFifoLosesTheOlderCharacter) {
    uart.receive('x');
    EXPECT_FALSE(uart.receive('y'));
    EXPECT_EQ(uart.read(lsr), 0x63);
    EXPECT_EQ(uart.read(lsr), 0x61);
    EXPECT_EQ(uart.read(data), 'y');
    EXPECT_EQ(uart.read(lsr), 0x60);
}

TEST_F(Serial, OverrunWithFifoLosesTheNewerCharacter) {
    fifo();
    for (unsigned i = 0; i < 16; ++i) {
        EXPECT_TRUE(uart.can_receive());
        EXPECT_TRUE(uart.receive(static_cast<std::uint8_t>(i)));
    }
    EXPECT_FALSE(uart.can_receive());
    EXPECT_FALSE(uart.receive(99));
    EXPECT_EQ(uart.read(lsr), 0x63);
    for (unsigned i = 0; i < 16; ++i) {
        EXPECT_EQ(uart.read(data), i);
    }
}

TEST_F(Serial, TriggerLevels) {
    for (const auto& [bits, level] :
         {std::pair<std::uint8_t, unsigned>{0x00, 1}, {0x40, 4}, {0x80, 8}, {0xc0, 14}}) {
        uart = {};
        fifo(bits);
        uart.write(ier, 0x01);
        for (unsigned count = 1; count <= 16; ++count) {
            uart.receive('x');
            ASSERT_EQ(uart.read(iir), fifos | (count < level ? timeout : received_data)) << count;
        }
    }
}

TEST_F(Serial, InterruptPriorities) {
    uart.write(mcr, out2);
    uart.write(ier, 0x0f);
    uart.receive('x');
    uart.receive('y');            // overrun
    uart.write(mcr, out2 | loop); // modem status changes
    uart.write(mcr, out2);
    EXPECT_EQ(uart.read(iir), line_status);
    uart.read(lsr);
    EXPECT_EQ(uart.read(iir), received_data);
    uart.read(data);
    EXPECT_EQ(uart.read(iir), transmitter_empty);
    EXPECT_EQ(uart.read(iir), 0x00); // modem status
    EXPECT_TRUE(uart.line());
    EXPECT_EQ(uart.read(msr), 0xb3); // CTS and DSR have gone and come; OUT2 kept DCD on
    EXPECT_EQ(uart.read(msr), 0xb0);
    EXPECT_EQ(uart.read(iir), none);
    EXPECT_FALSE(uart.line());
}

TEST_F(Serial, ReadingIirClearsTheTransmitterInterruptOnlyIfItIsReported) {
    uart.write(ier, 0x03);
    uart.receive('x');
    EXPECT_EQ(uart.read(iir), received_data);
    uart.read(data);
    EXPECT_EQ(uart.read(iir), transmitter_empty);
}

TEST_F(Serial, RingEndsWithItsTrailingEdge) {
    uart.write(mcr, loop);
    uart.read(msr);
    uart.write(mcr, loop | 0x04);
    EXPECT_EQ(uart.read(msr), 0x40);
    uart.write(mcr, loop);
    EXPECT_EQ(uart.read(msr), 0x04);
}

TEST_F(Serial, Out2ConnectsTheInterrupt) {
    uart.write(ier, 0x01);
    uart.receive('x');
    EXPECT_FALSE(uart.line());
    uart.write(mcr, out2);
    EXPECT_TRUE(uart.line());
    uart.write(mcr, out2 | loop);
    EXPECT_FALSE(uart.line());
}

TEST_F(Serial, BreakShowsWithItsCharacter) {
    fifo();
    uart.write(ier, 0x05);
    uart.receive('x');
    uart.receive_break();
    EXPECT_EQ(uart.read(lsr), 0xe1); // somewhere in the FIFO
    EXPECT_EQ(uart.read(iir), fifos | received_data);
    EXPECT_EQ(uart.read(data), 'x');
    EXPECT_EQ(uart.read(iir), fifos | line_status);
    EXPECT_EQ(uart.read(lsr), 0xf1);
    EXPECT_EQ(uart.read(lsr), 0x61);
    EXPECT_EQ(uart.read(data), 0);
}

TEST_F(Serial, LoopbackShutsTheCableOff) {
    uart.write(mcr, loop);
    EXPECT_FALSE(uart.can_receive());
    EXPECT_FALSE(uart.receive('x'));
    EXPECT_FALSE(uart.receive_break());
    EXPECT_EQ(uart.read(lsr), 0x60);
    uart.write(lcr, 0x43); // its own break comes back
    EXPECT_EQ(uart.read(lsr), 0x71);
}

TEST_F(Serial, OnlyABreakInLoopbackComesBack) {
    uart.write(lcr, 0x43); // on the cable
    EXPECT_EQ(uart.read(lsr), 0x60);
    uart.write(mcr, loop);
    uart.write(lcr, 0x03);
    EXPECT_EQ(uart.read(lsr), 0x60);
}

TEST_F(Serial, ErrorsAddUp) {
    uart.receive_break();
    uart.receive('x');
    EXPECT_EQ(uart.read(lsr), 0x73); // break and overrun
}

TEST_F(Serial, LineStatusInterruptHasAnEnableOfItsOwn) {
    uart.receive('x');
    uart.receive('y');
    uart.write(ier, 0x01);
    EXPECT_EQ(uart.read(iir), received_data);
    uart.write(ier, 0x04);
    EXPECT_EQ(uart.read(iir), line_status);
    uart.write(ier, 0x08);
    EXPECT_EQ(uart.read(iir), none);
}

TEST_F(Serial, FcrClearsAndSwitches) {
    fifo();
    uart.receive('x');
    uart.write(fcr, 0x03);
    EXPECT_EQ(uart.read(lsr) & 0x01U, 0);
    uart.receive('y');
    uart.write(fcr, 0x00);
    EXPECT_EQ(uart.read(lsr) & 0x01U, 0);
    EXPECT_EQ(uart.read(iir), none);
    uart.write(fcr, 0xc0); // not taken without bit 0
    EXPECT_EQ(uart.fcr, 0);
}

TEST_F(Serial, StatusRegistersIgnoreWrites) {
    uart.write(lsr, 0x00);
    uart.write(msr, 0x00);
    EXPECT_EQ(uart.read(lsr), 0x60);
    EXPECT_EQ(uart.read(msr), 0xb0);
}

} // namespace
} // namespace previrt
