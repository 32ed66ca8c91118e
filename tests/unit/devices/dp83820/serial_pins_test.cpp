// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/devices/dp83820/serial_pins.hpp"

namespace previrt {
namespace {

using namespace dp83820;

class Pins : public testing::Test {
protected:
    Card card;
    EepromPins eeprom{card};
    MiiPins mii{card};
};

TEST_F(Pins, EepromHoldsTheAddressAndItsChecksum) {
    EXPECT_EQ(eeprom.read(0), 0xf022);
    EXPECT_EQ(eeprom.read(1), 0x100b);
    EXPECT_EQ(eeprom.read(0xa), 0x5644); // the last two bytes
    EXPECT_EQ(eeprom.read(0xb), 0x3322);
    EXPECT_EQ(eeprom.read(0xc), 0x1102);
    unsigned sum = 0x55;
    for (std::uint32_t address = 0; address <= 0xc; ++address) {
        const std::uint16_t word = eeprom.read(address);
        sum += (word & 0xffU) + (word >> 8U);
    }
    EXPECT_EQ((sum + (eeprom.read(0xd) >> 8U)) & 0xffU, 0U); // as NetBSD checks it
}

TEST_F(Pins, EepromIsPulledUpUnlessItAnswers) {
    EXPECT_EQ(card.read(at::mear) & mear_eedo, mear_eedo);
    card.set(at::mear, mear_eesel);
    eeprom.send(0x180, 9);
    EXPECT_EQ(card.read(at::mear) & mear_eedo, 0U); // a 0 before the word
    eeprom.send(0, 20);
    EXPECT_EQ(card.read(at::mear) & mear_eedo, 0U); // and after it
    card.clear(at::mear, mear_eesel);
    EXPECT_EQ(card.read(at::mear) & mear_eedo, mear_eedo);
}

TEST_F(Pins, EepromDoesNotChange) {
    const std::uint16_t before = eeprom.read(0xa);
    for (const std::uint32_t command : {0b1'00'110000U, 0b1'01'001010U, 0b1'11'001010U}) {
        card.set(at::mear, mear_eesel);
        eeprom.send(command, 9);
        eeprom.send(0xffff, 16);
        card.clear(at::mear, mear_eesel);
        card.write(at::mear, 0);
    }
    EXPECT_EQ(eeprom.read(0xa), before);
}

TEST_F(Pins, FibreIsStrappedByEeprom) {
    Card fibre(Transceiver::fibre);
    EXPECT_EQ(EepromPins(fibre).read(5), 0x0280);
    EXPECT_EQ(eeprom.read(5), 0);
}

TEST_F(Pins, OnePhyAnswers) {
    for (std::uint32_t address = 0; address < 32; ++address) {
        EXPECT_EQ(mii.read(address, 1).has_value(), address == 1) << address;
    }
}

TEST_F(Pins, PhyTellsWhatItCanDoAndWhatItCameTo) {
    EXPECT_EQ(mii.read(1, 0), 0x1140);
    EXPECT_EQ(mii.read(1, 1), 0x796d); // with link, and negotiated
    EXPECT_EQ(mii.read(1, 4), 0x01e1);
    EXPECT_EQ(mii.read(1, 5), 0x41e1);
    EXPECT_EQ(mii.read(1, 6), 0x0001);
    EXPECT_EQ(mii.read(1, 9), 0x0300);
    EXPECT_EQ(mii.read(1, 10), 0x3c00);
    EXPECT_EQ(mii.read(1, 15), 0x3000);
    EXPECT_EQ(mii.read(1, 31), 0x0000);
}

TEST_F(Pins, BmsrTellsOnceThatTheLinkWasLost) {
    card.nic.set_link(false, card.now);
    EXPECT_EQ(mii.read(1, 1), 0x7949);
    EXPECT_EQ(mii.read(1, 5), 0);
    EXPECT_EQ(mii.read(1, 1), 0x7949);
    card.nic.set_link(true, card.now);
    EXPECT_EQ(mii.read(1, 1), 0x7969);
    EXPECT_EQ(mii.read(1, 1), 0x796d);
    card.nic.set_link(false, card.now);
    card.nic.set_link(true, card.now);
    EXPECT_EQ(mii.read(1, 1), 0x7969);
}

TEST_F(Pins, PhyCanBeTold) {
    mii.write(1, 0, 0x2100); // 100 Mbit/s, full duplex
    EXPECT_EQ(mii.read(1, 0), 0x2100);
    EXPECT_EQ(card.read(at::cfg), 0xc000'0000U);
    mii.write(1, 0, 0x0000); // 10 Mbit/s, half duplex
    EXPECT_EQ(card.read(at::cfg), 0xf000'0000U);
    mii.write(2, 0, 0x2100); // another's
    EXPECT_EQ(card.read(at::cfg), 0xf000'0000U);
    mii.write(1, 0, 0x8000);
    EXPECT_EQ(mii.read(1, 0), 0x1140);
    EXPECT_EQ(card.read(at::cfg), 0xa000'0000U);
}

TEST_F(Pins, PhyNegotiatesWhatItMayOffer) {
    mii.write(1, 9, 0x0100);
    mii.write(1, 0, 0x1200);
    EXPECT_EQ(mii.read(1, 0), 0x1000); // restarts by itself
    EXPECT_EQ(card.read(at::cfg), 0xb000'0000U);
    mii.write(1, 9, 0);
    EXPECT_EQ(card.read(at::cfg), 0xc000'0000U);
    mii.write(1, 4, 0x0081);
    EXPECT_EQ(card.read(at::cfg), 0xd000'0000U);
    mii.write(1, 4, 0x0041);
    EXPECT_EQ(card.read(at::cfg), 0xe000'0000U);
    mii.write(1, 4, 0x0001); // nothing in common
    EXPECT_EQ(card.read(at::cfg) & cfg_lnksts, 0U);
    EXPECT_EQ(mii.read(1, 1), 0x7949);
}

TEST_F(Pins, PhyInterruptsWhereCfgSaysSo) {
    card.read(at::isr);
    card.nic.set_link(false, card.now);
    EXPECT_EQ(card.read(at::isr), 0U);
    card.write(at::cfg, cfg_pint_lnksts); // writing it is no change
    EXPECT_EQ(card.read(at::isr), 0U);
    card.nic.set_link(true, card.now);
    EXPECT_EQ(card.read(at::isr), isr_phy);
    card.nic.set_link(true, card.now); // as it was
    EXPECT_EQ(card.read(at::isr), 0U);
    mii.write(1, 0, 0x2100);
    EXPECT_EQ(card.read(at::isr), 0U);
    card.write(at::cfg, cfg_pint_spdsts);
    mii.write(1, 0, 0x0140);
    EXPECT_EQ(card.read(at::isr), isr_phy);
    mii.write(1, 0, 0x0040);
    EXPECT_EQ(card.read(at::isr), 0U);
    card.write(at::cfg, cfg_pint_dupsts);
    mii.write(1, 0, 0x0140);
    EXPECT_EQ(card.read(at::isr), isr_phy);
    mii.write(1, 0, 0x0800); // power down
    EXPECT_EQ(card.read(at::cfg) & cfg_lnksts, 0U);
}

TEST_F(Pins, PhyRstByCfg) {
    mii.write(1, 0, 0x2100);
    card.write(at::cfg, cfg_phy_rst);
    card.write(at::cfg, 0);
    EXPECT_EQ(mii.read(1, 0), 0x1140);
}

// The interface finds back to the start of a command by 32 ones.
TEST_F(Pins, PhySurvivesCommandsThatBreakOff) {
    for (unsigned bits = 0; bits < 40; ++bits) {
        mii.send(0b0110'00001'00001, 14);
        mii.send(0, bits);
        EXPECT_EQ(mii.read(1, 0), 0x1140) << bits;
    }
}

TEST_F(Pins, PhyLoopsBack) {
    EXPECT_FALSE(card.nic.phy.loops_back());
    mii.write(1, 0, 0x5140);
    EXPECT_TRUE(card.nic.phy.loops_back());
}

} // namespace
} // namespace previrt
