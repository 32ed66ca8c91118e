// SPDX-License-Identifier: BSD-2-Clause
#include "devices/pic8259/pic_pair.hpp"

#include <gtest/gtest.h>
#include <initializer_list>

namespace previrt {
namespace {

constexpr std::uint16_t master_command = 0x20;
constexpr std::uint16_t master_data = 0x21;
constexpr std::uint16_t slave_command = 0xa0;
constexpr std::uint16_t slave_data = 0xa1;
constexpr std::uint16_t elcr_1 = 0x4d0;
constexpr std::uint16_t elcr_2 = 0x4d1;

constexpr std::uint8_t non_specific_eoi = 0x20;
constexpr std::uint8_t specific_eoi = 0x60;
constexpr std::uint8_t rotate_on_non_specific_eoi = 0xa0;
constexpr std::uint8_t rotate_on_specific_eoi = 0xe0;
constexpr std::uint8_t set_priority = 0xc0;
constexpr std::uint8_t rotate_in_automatic_eoi = 0x80;
constexpr std::uint8_t read_irr = 0x0a;
constexpr std::uint8_t read_isr = 0x0b;
constexpr std::uint8_t poll = 0x0c;
constexpr std::uint8_t set_special_mask = 0x68;
constexpr std::uint8_t reset_special_mask = 0x48;

constexpr std::uint8_t master_vector = 0x30;
constexpr std::uint8_t slave_vector = 0x38;

class Pic : public testing::Test {
protected:
    void SetUp() override { initialize(0x11, 0x01, 0x01); }

    // As a kernel does, all unmasked.
    void initialize(std::uint8_t icw1, std::uint8_t master_icw4, std::uint8_t slave_icw4) {
        for (const std::uint8_t value : {std::uint8_t{master_vector}, std::uint8_t{0x04}, master_icw4}) {
            if (value == master_vector) {
                pic.write(master_command, icw1);
            }
            pic.write(master_data, value);
        }
        for (const std::uint8_t value : {std::uint8_t{slave_vector}, std::uint8_t{0x02}, slave_icw4}) {
            if (value == slave_vector) {
                pic.write(slave_command, icw1);
            }
            pic.write(slave_data, value);
        }
        pic.write(master_data, 0);
        pic.write(slave_data, 0);
    }

    void pulse(unsigned irq) {
        pic.set_line(irq, false);
        pic.set_line(irq, true);
    }

    std::uint8_t register_of(std::uint16_t command, std::uint8_t selection) {
        pic.write(command, selection);
        return pic.read(command);
    }

    PicPair pic;
};

TEST_F(Pic, DecodesItsPortsOnly) {
    for (unsigned port = 0; port <= 0xffff; ++port) {
        const bool own =
            port == 0x20 || port == 0x21 || port == 0xa0 || port == 0xa1 || port == 0x4d0 || port == 0x4d1;
        ASSERT_EQ(PicPair::decodes(static_cast<std::uint16_t>(port)), own) << port;
    }
}

TEST_F(Pic, MasksAllBeforeInitialization) {
    PicPair fresh;
    fresh.set_line(0, true);
    fresh.set_line(8, true);
    EXPECT_FALSE(fresh.interrupt_requested());
    fresh.write(master_data, 0xfb); // how Linux looks for the chip
    EXPECT_EQ(fresh.read(master_data), 0xfb);
}

TEST_F(Pic, GivesTheVectorOfEveryInput) {
    for (unsigned irq = 0; irq < 16; ++irq) {
        if (irq == 2) {
            continue;
        }
        pulse(irq);
        ASSERT_TRUE(pic.interrupt_requested()) << irq;
        ASSERT_EQ(pic.acknowledge(), (irq < 8 ? master_vector : slave_vector) + (irq & 7U)) << irq;
        ASSERT_FALSE(pic.interrupt_requested()) << irq;
        if (irq >= 8) {
            pic.write(slave_command, non_specific_eoi);
        }
        pic.write(master_command, non_specific_eoi);
        ASSERT_FALSE(pic.interrupt_requested()) << irq;
    }
}

TEST_F(Pic, HasNoPinForIrq2AndIgnoresOthers) {
    pic.set_line(2, true);
    pic.set_line(16, true);
    pic.set_line(0xffff'ffff, true);
    EXPECT_FALSE(pic.interrupt_requested());
    EXPECT_FALSE(pic.pending(16));
    EXPECT_FALSE(pic.enabled(16));
}

TEST_F(Pic, NeedsANewEdgeForAnotherInterrupt) {
    pulse(4);
    pic.acknowledge();
    pic.write(master_command, non_specific_eoi);
    pic.set_line(4, true);
    EXPECT_FALSE(pic.interrupt_requested());
    pulse(4);
    EXPECT_TRUE(pic.interrupt_requested());
}

TEST_F(Pic, RequestsAgainWhileALevelTriggeredLineStaysHigh) {
    pic.write(elcr_2, 0x08); // IRQ11
    pic.set_line(11, true);
    EXPECT_EQ(pic.acknowledge(), slave_vector + 3);
    EXPECT_FALSE(pic.interrupt_requested());
    pic.write(slave_command, specific_eoi | 3);
    pic.write(master_command, specific_eoi | 2);
    EXPECT_TRUE(pic.interrupt_requested());
    EXPECT_EQ(pic.acknowledge(), slave_vector + 3);
    pic.set_line(11, false);
    pic.write(slave_command, specific_eoi | 3);
    pic.write(master_command, specific_eoi | 2);
    EXPECT_FALSE(pic.interrupt_requested());
}

TEST_F(Pic, ElcrKeepsReservedInputsEdgeTriggered) {
    pic.write(elcr_1, 0xff);
    pic.write(elcr_2, 0xff);
    EXPECT_EQ(pic.read(elcr_1), 0xf8);
    EXPECT_EQ(pic.read(elcr_2), 0xde);
}

TEST_F(Pic, AnInputMadeLevelTriggeredRequestsIfItIsHigh) {
    pulse(5);
    pic.acknowledge();
    pic.write(master_command, non_specific_eoi);
    EXPECT_FALSE(pic.interrupt_requested());
    pic.write(elcr_1, 0x20);
    EXPECT_TRUE(pic.interrupt_requested());
}

TEST_F(Pic, Icw1MayMakeAllInputsLevelTriggered) {
    initialize(0x19, 0x01, 0x01);
    pic.set_line(0, true);
    EXPECT_EQ(pic.acknowledge(), master_vector);
    pic.write(master_command, non_specific_eoi);
    EXPECT_TRUE(pic.interrupt_requested());
}

TEST_F(Pic, ARequestThatGoesAwayIsSpurious) {
    pulse(3);
    pic.set_line(3, false);
    EXPECT_FALSE(pic.interrupt_requested());
    EXPECT_EQ(pic.acknowledge(), master_vector + 7);
    EXPECT_EQ(register_of(master_command, read_isr), 0);
    pulse(12);
    pic.set_line(12, false);
    EXPECT_EQ(pic.acknowledge(), master_vector + 7);
    EXPECT_EQ(register_of(master_command, read_isr), 0);
}

// The slave's request goes between the master's look at IR2 and its own answer.
TEST_F(Pic, ASpuriousIrq15LeavesTheMasterInService) {
    pulse(9);
    pic.slave.set_line(1, false);
    EXPECT_EQ(pic.acknowledge(), slave_vector + 7);
    EXPECT_EQ(register_of(slave_command, read_isr), 0);
    EXPECT_EQ(register_of(master_command, read_isr), 0x04);
    pic.write(master_command, specific_eoi | 2);
    EXPECT_EQ(register_of(master_command, read_isr), 0);
}

TEST_F(Pic, MaskHidesARequestButKeepsIt) {
    pic.write(master_data, 0x10);
    pulse(4);
    EXPECT_FALSE(pic.interrupt_requested());
    EXPECT_FALSE(pic.enabled(4));
    EXPECT_TRUE(pic.pending(4));
    EXPECT_EQ(register_of(master_command, read_irr), 0x10);
    EXPECT_EQ(pic.read(master_data), 0x10);
    pic.write(master_data, 0);
    EXPECT_TRUE(pic.interrupt_requested());
}

TEST_F(Pic, MaskOfIrq2HidesTheSlave) {
    EXPECT_TRUE(pic.enabled(8));
    pic.write(master_data, 0x04);
    pulse(8);
    EXPECT_FALSE(pic.interrupt_requested());
    EXPECT_FALSE(pic.enabled(8));
    pic.write(master_data, 0);
    EXPECT_EQ(pic.acknowledge(), slave_vector);
}

TEST_F(Pic, HigherPriorityInterruptsLower) {
    pulse(4);
    EXPECT_EQ(pic.acknowledge(), master_vector + 4);
    pulse(5);
    EXPECT_FALSE(pic.interrupt_requested());
    pulse(1);
    EXPECT_EQ(pic.acknowledge(), master_vector + 1);
    EXPECT_EQ(register_of(master_command, read_isr), 0x12);
    pic.write(master_command, non_specific_eoi);
    EXPECT_EQ(register_of(master_command, read_isr), 0x10);
    EXPECT_FALSE(pic.interrupt_requested());
    pic.write(master_command, non_specific_eoi);
    EXPECT_EQ(pic.acknowledge(), master_vector + 5);
}

TEST_F(Pic, NonSpecificEoiWithoutServiceDoesNothing) {
    pic.write(master_command, non_specific_eoi);
    pic.write(master_command, rotate_on_non_specific_eoi);
    EXPECT_EQ(pic.master.lowest_priority, 7);
}

TEST_F(Pic, SpecificEoiEndsOneLevelOnly) {
    pulse(6);
    pic.acknowledge();
    pulse(1);
    pic.acknowledge();
    pic.write(master_command, specific_eoi | 6);
    EXPECT_EQ(register_of(master_command, read_isr), 0x02);
}

TEST_F(Pic, SlaveInterruptsInterleaveAsLinuxEndsThem) {
    pulse(14);
    EXPECT_EQ(pic.acknowledge(), slave_vector + 6);
    pulse(8);
    EXPECT_FALSE(pic.interrupt_requested()); // the master sees IR2 in service
    pic.write(slave_data, 0x40);
    pic.write(slave_command, specific_eoi | 6);
    pic.write(master_command, specific_eoi | 2);
    EXPECT_EQ(pic.acknowledge(), slave_vector);
    pic.write(slave_command, specific_eoi);
    pic.write(master_command, specific_eoi | 2);
    EXPECT_FALSE(pic.interrupt_requested());
}

TEST_F(Pic, TwoRequestsOfTheSlaveAreBothServed) {
    pulse(12);
    pulse(10);
    EXPECT_EQ(pic.acknowledge(), slave_vector + 2);
    pic.write(slave_command, non_specific_eoi);
    pic.write(master_command, non_specific_eoi);
    ASSERT_TRUE(pic.interrupt_requested());
    EXPECT_EQ(pic.acknowledge(), slave_vector + 4);
}

TEST_F(Pic, MasterEoiBeforeSlaveEoiLosesNothing) {
    pulse(12);
    pic.acknowledge();
    pulse(13);
    pic.write(master_command, non_specific_eoi);
    EXPECT_FALSE(pic.interrupt_requested());
    pic.write(slave_command, non_specific_eoi);
    EXPECT_EQ(pic.acknowledge(), slave_vector + 5);
}

TEST_F(Pic, SpecialFullyNestedModeLetsTheSlavesHigherRequestPass) {
    initialize(0x11, 0x11, 0x01);
    pulse(14);
    EXPECT_EQ(pic.acknowledge(), slave_vector + 6);
    pulse(15);
    EXPECT_FALSE(pic.interrupt_requested());
    pulse(3);
    EXPECT_FALSE(pic.interrupt_requested()); // of lower priority than IR2
    pulse(9);
    ASSERT_TRUE(pic.interrupt_requested());
    EXPECT_EQ(pic.acknowledge(), slave_vector + 1);
    EXPECT_EQ(register_of(slave_command, read_isr), 0x42);
    EXPECT_EQ(register_of(master_command, read_isr), 0x04);
}

TEST_F(Pic, AutomaticEoiLeavesNothingInService) {
    initialize(0x11, 0x03, 0x03);
    pulse(4);
    EXPECT_EQ(pic.acknowledge(), master_vector + 4);
    EXPECT_EQ(register_of(master_command, read_isr), 0);
    pulse(12);
    pulse(13);
    EXPECT_EQ(pic.acknowledge(), slave_vector + 4);
    EXPECT_EQ(pic.acknowledge(), slave_vector + 5);
    EXPECT_FALSE(pic.interrupt_requested());
}

TEST_F(Pic, RotationInAutomaticEoi) {
    initialize(0x11, 0x03, 0x03);
    pic.write(master_command, rotate_in_automatic_eoi);
    for (const unsigned irq : {0U, 1U}) {
        pulse(irq);
    }
    EXPECT_EQ(pic.acknowledge(), master_vector);
    pulse(0); // now the lowest
    EXPECT_EQ(pic.acknowledge(), master_vector + 1);
    EXPECT_EQ(pic.acknowledge(), master_vector);
    pic.write(master_command, 0x00);
    EXPECT_FALSE(pic.master.rotate_in_automatic_eoi);
}

// The example of the data sheet: IR4 and IR6 in service, IR4 ended with rotation.
TEST_F(Pic, RotationOnNonSpecificEoi) {
    pulse(6);
    pic.acknowledge();
    pulse(4);
    pic.acknowledge();
    pic.write(master_command, rotate_on_non_specific_eoi);
    EXPECT_EQ(pic.master.lowest_priority, 4);
    EXPECT_EQ(register_of(master_command, read_isr), 0x40);
    pulse(0); // priority: 5, 6, 7, 0, ...
    EXPECT_FALSE(pic.interrupt_requested());
    pulse(5);
    EXPECT_EQ(pic.acknowledge(), master_vector + 5);
}

TEST_F(Pic, RotationOnSpecificEoiAndSetPriority) {
    pulse(3);
    pic.acknowledge();
    pic.write(master_command, rotate_on_specific_eoi | 3);
    EXPECT_EQ(pic.master.lowest_priority, 3);
    EXPECT_EQ(register_of(master_command, read_isr), 0);
    pic.write(master_command, set_priority | 5);
    EXPECT_EQ(pic.master.lowest_priority, 5);
    pulse(0);
    pulse(6);
    EXPECT_EQ(pic.acknowledge(), master_vector + 6);
    pic.write(master_command, 0x40 | 2); // no operation
    EXPECT_EQ(pic.master.lowest_priority, 5);
    EXPECT_EQ(register_of(master_command, read_isr), 0x40);
}

TEST_F(Pic, SpecialMaskModeLetsLowerRequestsPass) {
    pulse(1);
    pic.acknowledge();
    pulse(6);
    EXPECT_FALSE(pic.interrupt_requested());
    pic.write(master_data, 0x02);
    EXPECT_FALSE(pic.interrupt_requested());
    pic.write(master_command, set_special_mask);
    EXPECT_EQ(pic.acknowledge(), master_vector + 6);
    // IR1 is masked: a non-specific EOI does not end it.
    pic.write(master_command, non_specific_eoi);
    EXPECT_EQ(register_of(master_command, read_isr), 0x02);
    pic.write(master_command, non_specific_eoi);
    EXPECT_EQ(register_of(master_command, read_isr), 0x02);
    pic.write(master_command, reset_special_mask);
    pic.write(master_command, non_specific_eoi);
    EXPECT_EQ(register_of(master_command, read_isr), 0);
}

TEST_F(Pic, PollAcknowledges) {
    pic.write(master_command, poll);
    EXPECT_EQ(pic.read(master_command), 0);
    pulse(5);
    pic.write(master_command, poll);
    EXPECT_EQ(pic.read(master_command), 0x85);
    EXPECT_EQ(register_of(master_command, read_isr), 0x20);
    pulse(9);
    pic.write(slave_command, poll);
    EXPECT_EQ(pic.read(slave_data), 0x81); // any read
    EXPECT_EQ(pic.read(slave_data), 0);    // IMR again
    EXPECT_FALSE(pic.interrupt_requested());
}

TEST_F(Pic, StatusReadStaysSelected) {
    pulse(3);
    pic.acknowledge();
    EXPECT_EQ(register_of(master_command, read_isr), 0x08);
    EXPECT_EQ(pic.read(master_command), 0x08);
    pic.write(master_command, set_special_mask); // RR clear: no change
    EXPECT_EQ(pic.read(master_command), 0x08);
    EXPECT_EQ(register_of(master_command, read_irr), 0);
}

TEST_F(Pic, Icw1StartsAnew) {
    pulse(3);
    pic.acknowledge();
    pulse(4);
    pic.write(master_command, set_priority | 2);
    pic.write(master_command, read_isr);
    pic.write(master_data, 0xff);
    pic.write(master_command, 0x11);
    EXPECT_EQ(pic.read(master_data), 0);    // IMR
    EXPECT_EQ(pic.read(master_command), 0); // IRR: the edge is forgotten
    EXPECT_FALSE(pic.interrupt_requested());
    EXPECT_EQ(pic.master.isr, 0);
    EXPECT_EQ(pic.master.lowest_priority, 7);
}

TEST_F(Pic, IsSilentWhileBeingInitialized) {
    pic.write(master_command, 0x11);
    pulse(0);
    EXPECT_FALSE(pic.interrupt_requested());
    pic.write(master_data, 0x40);
    pic.write(master_data, 0x04);
    EXPECT_FALSE(pic.interrupt_requested());
    pic.write(master_data, 0x01);
    EXPECT_EQ(pic.acknowledge(), 0x40);
}

// The master has forgotten the edge of the slave's INT, but the slave makes another after its own ICWs.
TEST_F(Pic, ALevelTriggeredRequestSurvivesReinitialization) {
    pic.write(elcr_2, 0x04);
    pic.set_line(10, true);
    initialize(0x11, 0x01, 0x01);
    EXPECT_EQ(pic.acknowledge(), slave_vector + 2);
}

TEST_F(Pic, SingleChipTakesNoIcw3AndFewerIcwsMayBeNeeded) {
    pic.write(master_command, 0x13);
    pic.write(master_data, 0x50);
    pic.write(master_data, 0x01);
    pic.write(master_data, 0xfe);
    EXPECT_EQ(pic.read(master_data), 0xfe);
    pic.write(master_command, 0x12);
    pic.write(master_data, 0x50);
    pic.write(master_data, 0xfd);
    EXPECT_EQ(pic.read(master_data), 0xfd);
}

TEST_F(Pic, McsModeGivesTheLowByteOfItsCall) {
    pic.write(master_command, 0x12 | 0xa0 | 0x04); // interval 4
    pic.write(master_data, 0x00);
    pulse(3);
    EXPECT_EQ(pic.acknowledge(), 0xa0 | (3 << 2));
    pic.write(master_command, 0x12 | 0xe0); // interval 8: A5 is the chip's
    pic.write(master_data, 0x00);
    pulse(3);
    EXPECT_EQ(pic.acknowledge(), 0xc0 | (3 << 3));
}

TEST_F(Pic, NobodyAnswersForASlaveOfAnotherIdentity) {
    pic.write(slave_command, 0x11);
    pic.write(slave_data, slave_vector);
    pic.write(slave_data, 0x05);
    pic.write(slave_data, 0x01);
    pulse(8);
    EXPECT_EQ(pic.acknowledge(), 0xff);
}

} // namespace
} // namespace previrt
