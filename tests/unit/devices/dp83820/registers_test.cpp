// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/devices/dp83820/card.hpp"

#include <set>

namespace previrt {
namespace {

using namespace dp83820;

TEST(Dp83820Function, IsTheReferenceCard) {
    const Card card;
    const PciFunction& function = *card.function;
    EXPECT_EQ(function.read(0x00, 4), 0x0022'100bU);
    EXPECT_EQ(function.read(0x04, 4), 0x02a0'0000U);
    EXPECT_EQ(function.read(0x08, 4), 0x0200'0000U);
    EXPECT_EQ(function.read(0x2c, 4), 0xf022'100bU);
    EXPECT_EQ(function.read(0x34, 1), 0U); // no capabilities
    EXPECT_EQ(function.read(0x3c, 4), 0x340b'0100U);
}

TEST(Dp83820Function, HasABarOfPortsAndOneOfMemory) {
    Card card;
    card.function->write(0x10, 4, 0xffff'ffff);
    card.function->write(0x14, 4, 0xffff'ffff);
    card.function->write(0x18, 4, 0xffff'ffff);
    EXPECT_EQ(card.function->read(0x10, 4), 0xffff'ff01U);
    EXPECT_EQ(card.function->read(0x14, 4), 0xffff'f000U);
    EXPECT_EQ(card.function->read(0x18, 4), 0U);
}

TEST(Dp83820Function, IsMirroredInTheMemoryBar) {
    Card card;
    EXPECT_EQ(card.read(0x200), 0x0022'100bU);
    EXPECT_EQ(card.read(0x22c), 0xf022'100bU); // Linux reads it when it probes
    card.function->write(0x14, 4, 0xfebf'0000);
    EXPECT_EQ(card.read(0x214), 0xfebf'0000U);
    EXPECT_FALSE(card.nic.write(0x20c, 0, 0));
}

class Registers : public testing::Test {
protected:
    Card card;
};

TEST_F(Registers, Reset) {
    EXPECT_EQ(card.read(at::cr), 0U);
    EXPECT_EQ(card.read(at::cfg), 0xa000'0000U); // 1000 Mbit/s, full duplex, up
    EXPECT_EQ(card.read(at::mear), 0x12U);
    EXPECT_EQ(card.read(at::isr), 0x0060'8000U);
    EXPECT_EQ(card.read(at::imr), 0U);
    EXPECT_EQ(card.read(at::ier), 0U);
    EXPECT_EQ(card.read(at::txcfg), 0x120U);
    EXPECT_EQ(card.read(at::rxcfg), 4U);
    EXPECT_EQ(card.read(at::srr), 0x103U);
    EXPECT_EQ(card.read(at::mibc), 2U);
    EXPECT_EQ(card.read(at::vdr), 0x81U);
    EXPECT_EQ(card.read(at::tesr), 0xc000U);
}

TEST_F(Registers, ResetByTheGuest) {
    card.write(at::imr, 0xffff'ffff);
    card.write(at::ier, 1);
    card.write(at::txdp, 0x1000);
    card.write(at::rfcr, 0);
    card.write(at::rfdr, 0xffff); // another address
    card.write(at::rfcr, rfcr_rfen);
    card.write(at::vrcr, 0xff);
    card.write(at::cfg, cfg_m64addr | cfg_tmrtest);
    card.write(at::cr, cr_txe | cr_rxe);
    card.write(at::cr, cr_rst | cr_txe);
    EXPECT_EQ(card.read(at::cr), 0U);
    EXPECT_EQ(card.read(at::isr), 0x0060'8000U);
    EXPECT_EQ(card.read(at::imr), 0U);
    EXPECT_EQ(card.read(at::ier), 0U);
    EXPECT_EQ(card.read(at::txdp), 0U);
    EXPECT_EQ(card.read(at::rfcr), 0U);
    EXPECT_EQ(card.read(at::rfdr), 0x1102U); // by EEPROM again
    EXPECT_EQ(card.read(at::vrcr), 0U);
    EXPECT_EQ(card.read(at::cfg), 0xa000'0000U);
}

TEST_F(Registers, WhatIsNotModelledIsRefused) {
    const std::set<std::uint32_t> modelled{
        0x00, 0x04, 0x08, 0x0c, 0x10, 0x14, 0x18, 0x1c, 0x20, 0x24, 0x28, 0x2c, 0x30, 0x34, 0x38, 0x3c, 0x40,
        0x44, 0x48, 0x4c, 0x58, 0x5c, 0x60, 0x64, 0x68, 0x6c, 0x70, 0x74, 0x78, 0x7c, 0x80, 0x84, 0x88, 0xa0,
        0xa4, 0xa8, 0xb0, 0xb4, 0xb8, 0xbc, 0xc0, 0xc4, 0xcc, 0xe0, 0xe4, 0xe8, 0xec, 0xf0, 0xf4};
    for (std::uint32_t offset = 0; offset < memory_bar_bytes; ++offset) {
        const bool mirrored = offset >= 0x200 && offset < 0x300 && offset % 4 == 0;
        EXPECT_EQ(card.nic.read(offset, *card.function, 0).has_value(), modelled.contains(offset) || mirrored)
            << std::hex << offset;
        EXPECT_EQ(card.nic.write(offset, 0, 0), modelled.contains(offset)) << std::hex << offset;
    }
    EXPECT_FALSE(card.nic.write(at::pqcr, 1, 0)); // priority queues
    EXPECT_FALSE(card.nic.write(at::pcr, pcr_send, 0));
    EXPECT_FALSE(card.nic.write(at::cfg, cfg_bem, 0));
}

TEST_F(Registers, HoldWhatWasWritten) {
    constexpr std::uint32_t all = 0xffff'ffff;
    const std::vector<std::pair<std::uint32_t, std::uint32_t>> kept{
        {at::txcfg, 0xf0f8'ffff}, {at::rxcfg, 0xfc70'003e},
        {at::wcsr, 0x7ff},        {at::vrcr, 0xff},
        {at::vtcr, 0xf},          {at::vdr, all},
        {at::ccsr, 0x101},        {at::tanar, 0xffff},
        {at::txdp, 0xffff'fff8},  {at::txdp_hi, all},
        {at::rxdp, 0xffff'fff8},  {at::rxdp_hi, all},
        {at::txdp1, 0xffff'fff8}, {at::rxdp1 + 8, 0xffff'fff8},
    };
    for (const auto& [offset, bits] : kept) {
        card.write(offset, all);
        EXPECT_EQ(card.read(offset), bits) << std::hex << offset;
        card.write(offset, 0);
        EXPECT_EQ(card.read(offset), 0U) << std::hex << offset;
    }
    card.write(at::pcr, 0xe1e0'fffe);
    EXPECT_EQ(card.read(at::pcr), 0xe1e0'fffeU);
    card.read(at::isr);
    for (const std::uint32_t offset : {at::srr, at::tesr, at::tbisr, at::isr}) {
        const std::uint32_t before = card.read(offset);
        card.write(offset, ~before);
        EXPECT_EQ(card.read(offset), before) << std::hex << offset;
    }
}

TEST_F(Registers, CfgKeepsWhatTheChipKnowsItself) {
    card.write(at::cfg, 0x0fff'fffe);
    EXPECT_EQ(card.read(at::cfg) & ~0x0fff'9fffU, 0xa000'0000U);
    EXPECT_EQ(card.read(at::cfg) & 0x6000U, 0U); // PCI64_DET, T64ADDR
}

TEST_F(Registers, OutputsOfGpiorReadBack) {
    card.write(at::gpior, 0x3e8 | 0x4);
    EXPECT_EQ(card.read(at::gpior), 0x3ecU | (0xcU << 10U));
    card.write(at::gpior, 0x04);
    EXPECT_EQ(card.read(at::gpior), 0x04U);
}

TEST_F(Registers, SelfTestsPassAtOnce) {
    card.write(at::ptscr, 0x2000);
    EXPECT_EQ(card.read(at::ptscr), 0U);
    card.write(at::ptscr, 0x400);
    EXPECT_EQ(card.read(at::ptscr), 0x200U);
    card.write(at::ptscr, 0x2);
    EXPECT_EQ(card.read(at::ptscr), 0x200U);
    card.write(at::ptscr, 0x2000);
    EXPECT_EQ(card.read(at::ptscr), 0U);
}

TEST_F(Registers, EeloadBringsTheAddressBack) {
    card.write(at::rfcr, 4);
    card.write(at::rfdr, 0);
    card.write(at::cfg, cfg_m64addr | cfg_extsts_en);
    card.write(at::ptscr, 4);
    EXPECT_EQ(card.read(at::ptscr), 0U);
    EXPECT_EQ(card.read(at::rfdr), 0x5644U);
    EXPECT_EQ(card.read(at::cfg), 0xa000'0000U | cfg_extsts_en);
}

TEST_F(Registers, CountersOfManagement) {
    card.nic.counters.count(Counter::missed); // frozen
    EXPECT_EQ(card.read(0x68), 0U);
    card.write(at::mibc, 0);
    card.nic.counters.count(Counter::missed);
    card.nic.counters.count(Counter::missed);
    EXPECT_EQ(card.read(0x68), 2U);
    EXPECT_EQ(card.read(0x68), 0U); // by reading
    card.write(at::mibc, mibc_mibs | mibc_frz);
    EXPECT_EQ(card.read(at::mibc), mibc_frz);
    for (std::uint32_t offset = 0x60; offset <= 0x88; offset += 4) {
        EXPECT_EQ(card.read(offset), 1U);
    }
    card.write(at::mibc, mibc_mibs);
    card.write(at::mibc, mibc_aclr);
    EXPECT_EQ(card.read(0x60), 0U);
}

TEST_F(Registers, ACounterThatIsHalfFullInterrupts) {
    card.write(at::mibc, 0);
    card.read(at::isr);
    for (unsigned i = 0; i < 0x7f; ++i) {
        card.write(at::mibc, mibc_mibs);
    }
    EXPECT_EQ(card.read(at::isr), 0U);
    card.write(at::mibc, mibc_mibs); // SQE has 8 bits
    EXPECT_EQ(card.read(at::isr), isr_mib);
    EXPECT_EQ(card.read(at::mibc), mibc_wrn);
    EXPECT_EQ(card.read(0x88), 0x80U);
    EXPECT_EQ(card.read(at::mibc), 0U);
    card.nic.counters.values[0] = 0xfffe;
    for (unsigned i = 0; i < 3; ++i) {
        card.write(at::mibc, mibc_mibs);
    }
    EXPECT_EQ(card.read(0x60), 0xffffU); // and no more
}

TEST_F(Registers, AreCountedForTheHost) {
    card.read(at::cr);
    card.read(at::cr);
    card.write(at::cr, 0);
    EXPECT_EQ(card.nic.statistics.register_reads, 2U);
    EXPECT_EQ(card.nic.statistics.register_writes, 1U);
}

TEST_F(Registers, ASnapshotIsItsBytes) {
    card.write(at::vdr, 0x1234'0081);
    Dp83820 copy;
    std::memcpy(&copy, &card.nic, sizeof(copy));
    card.write(at::vdr, 0);
    EXPECT_EQ(copy.read(at::vdr, *card.function, 0), 0x1234'0081U);
}

TEST(TenBitInterface, NegotiatesAsLinuxAsksIt) {
    Card card(Transceiver::fibre);
    EXPECT_EQ(card.read(at::cfg), 0xa000'0000U | cfg_tbi_en | cfg_mode_1000);
    EXPECT_EQ(card.read(at::tbisr), tbisr_link);
    EXPECT_EQ(card.read(at::tanlpar), 0U);
    card.set(at::tanar, 0x60);
    card.write(at::tbicr, 0x1200);
    card.write(at::tbicr, 0x1000);
    EXPECT_EQ(card.read(at::tbicr), 0x1000U);
    EXPECT_EQ(card.read(at::tbisr), 0x24U);
    EXPECT_EQ(card.read(at::tanlpar), 0x60U);
    EXPECT_EQ(card.read(at::taner), taner_pr);
    card.set(at::cfg, cfg_pint_lnksts);
    card.read(at::isr);
    card.nic.set_link(false, card.now);
    EXPECT_EQ(card.read(at::isr), isr_phy);
    EXPECT_EQ(card.read(at::tbisr), 0U);
    EXPECT_EQ(card.read(at::cfg) & cfg_lnksts, 0U);
}

TEST(TenBitInterface, IsNotThereOnCopper) {
    Card card;
    EXPECT_EQ(card.read(at::tbisr), 0U);
    EXPECT_EQ(card.read(at::tanlpar), 0U);
}

TEST(TenBitInterface, LoopsBack) {
    Card card(Transceiver::fibre);
    card.write(at::tbicr, tbicr_loop);
    card.put(0x2000, plain_frame(60));
    DescriptorLayout().write(card.ram, 0x1000, 0, 0x2000, cmdsts_own | 60U);
    card.write(at::txdp, 0x1000);
    card.write(at::cr, cr_txe);
    EXPECT_TRUE(card.sent().empty());
    EXPECT_EQ(card.nic.statistics.looped_frames, 1U);
}

} // namespace
} // namespace previrt
