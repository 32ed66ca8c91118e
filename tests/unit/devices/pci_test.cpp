// SPDX-License-Identifier: BSD-2-Clause
#include "devices/pci/pci.hpp"

#include <gtest/gtest.h>

namespace previrt {
namespace {

constexpr PciIdentity network_card{.vendor = 0x100b,
                                   .device = 0x0022,
                                   .revision = 5,
                                   .class_code = 0x02'0000,
                                   .subsystem_vendor = 0x100b,
                                   .subsystem = 0xf022,
                                   .interrupt_pin = 1};

class PciBus : public testing::Test {
protected:
    void SetUp() override { ASSERT_TRUE(pci.add_host_bridge()); }

    void select(unsigned bus, unsigned device, unsigned function, unsigned offset) {
        pci.write_address(0x8000'0000U | (bus << 16U) | (device << 11U) | (function << 8U) |
                          (offset & 0xfcU));
    }

    std::uint32_t read(unsigned device, unsigned offset, unsigned width, unsigned bus = 0,
                       unsigned function = 0) {
        select(bus, device, function, offset);
        return pci.read_data(static_cast<std::uint16_t>(Pci::data_port + (offset & 3U)), width);
    }

    void write(unsigned device, unsigned offset, unsigned width, std::uint32_t value) {
        select(0, device, 0, offset);
        pci.write_data(static_cast<std::uint16_t>(Pci::data_port + (offset & 3U)), width, value);
    }

    Pci pci;
};

TEST_F(PciBus, HostBridgeIsA440fx) {
    EXPECT_EQ(read(0, 0x00, 4), 0x1237'8086U);
    EXPECT_EQ(read(0, 0x00, 2), 0x8086U);
    EXPECT_EQ(read(0, 0x02, 2), 0x1237U);
    EXPECT_EQ(read(0, 0x0a, 2), 0x0600U);
    EXPECT_EQ(read(0, 0x0e, 1), 0x00U);
    EXPECT_EQ(read(0, 0x04, 2), 0x0006U);
    write(0, 0x04, 2, 0x0000);
    EXPECT_EQ(read(0, 0x04, 2), 0x0006U);
    write(0, 0x04, 2, 0xffff);
    EXPECT_EQ(read(0, 0x04, 2), 0x0146U);
    write(0, 0x0d, 1, 0xff);
    EXPECT_EQ(read(0, 0x0c, 4), 0xf800U);
    write(0, 0x10, 4, 0xffff'ffff); // no base address
    EXPECT_EQ(read(0, 0x10, 4), 0U);
}

TEST_F(PciBus, AbsentFunctionsReadAllOnes) {
    EXPECT_EQ(read(1, 0, 4), 0xffff'ffffU);
    EXPECT_EQ(read(0, 0, 2, 1), 0xffffU);  // another bus
    EXPECT_EQ(read(0, 0, 1, 0, 1), 0xffU); // another function
    write(1, 0x10, 4, 0x1234);             // goes nowhere
    EXPECT_EQ(pci.function_count, 1U);
}

TEST_F(PciBus, NothingIsSelectedWithoutEnable) {
    pci.write_address(0x0000'0000);
    EXPECT_EQ(pci.read_data(Pci::data_port, 4), 0xffff'ffffU);
    pci.write_address(0xffff'ffff);
    EXPECT_EQ(pci.read_address(), 0x80ff'fffcU);
}

TEST_F(PciBus, RegistryRefusesWhatDoesNotFit) {
    EXPECT_FALSE(pci.add_host_bridge());
    EXPECT_EQ(pci.add(32, 0, network_card), nullptr);
    EXPECT_EQ(pci.add(3, 8, network_card), nullptr);
    for (unsigned device = 1; device < Pci::most_functions; ++device) {
        EXPECT_NE(pci.add(device, 0, network_card), nullptr);
    }
    EXPECT_EQ(pci.add(30, 0, network_card), nullptr);
    EXPECT_EQ(pci.find(30, 0), nullptr);
    write(30, 0x10, 4, 0x1234);
    EXPECT_EQ(read(30, 0x10, 4), 0xffff'ffffU);
    ASSERT_NE(pci.find(3, 0), nullptr);
    EXPECT_EQ(pci.find(3, 0)->device_number, 3);
}

TEST_F(PciBus, FunctionTellsItsIdentity) {
    ASSERT_NE(pci.add(3, 0, network_card), nullptr);
    EXPECT_EQ(read(3, 0x00, 4), 0x0022'100bU);
    EXPECT_EQ(read(3, 0x08, 4), 0x0200'0005U);
    EXPECT_EQ(read(3, 0x2c, 4), 0xf022'100bU);
    EXPECT_EQ(read(3, 0x3d, 1), 1U);
    write(3, 0x00, 4, 0);
    EXPECT_EQ(read(3, 0x00, 4), 0x0022'100bU);
    write(3, 0x0c, 2, 0x4010); // cache line size, latency timer
    EXPECT_EQ(read(3, 0x0c, 4), 0x4010U);
    EXPECT_EQ(read(3, 0x3c, 4), 0x0100U);
    write(3, 0x3c, 1, 11);
    EXPECT_EQ(read(3, 0x3c, 2), 0x010bU);
    write(3, 0x3c, 4, 0xffff'ffff);
    EXPECT_EQ(read(3, 0x3c, 4), 0x01ffU);
}

// As firmware and kernels size base addresses.
TEST_F(PciBus, BaseAddressesAreSized) {
    PciFunction* const card = pci.add(3, 0, network_card);
    ASSERT_NE(card, nullptr);
    ASSERT_TRUE(card->add_bar(0, PciBar::io, 256));
    ASSERT_TRUE(card->add_bar(1, PciBar::memory, 4096));
    ASSERT_TRUE(card->add_bar(5, PciBar::io, 8));
    EXPECT_EQ(read(3, 0x24, 4), 0x01U);
    EXPECT_EQ(read(3, 0x28, 4), 0U);
    write(3, 0x10, 4, 0xffff'ffff);
    EXPECT_EQ(read(3, 0x10, 4), 0xffff'ff01U);
    write(3, 0x14, 4, 0xffff'ffff);
    EXPECT_EQ(read(3, 0x14, 4), 0xffff'f000U);
    write(3, 0x18, 4, 0xffff'ffff); // not there
    EXPECT_EQ(read(3, 0x18, 4), 0U);
    write(3, 0x10, 4, 0xc001);
    write(3, 0x14, 4, 0xfebf'1234);
    EXPECT_EQ(card->bar_address(0), 0xc000U);
    EXPECT_EQ(card->bar_address(1), 0xfebf'1000U);
    EXPECT_EQ(card->bar_address(6), 0U);
    EXPECT_FALSE(card->decodes_io());
    write(3, 0x04, 4, 0xffff'ffff);
    EXPECT_EQ(read(3, 0x04, 4), 0x0547U);
    EXPECT_TRUE(card->decodes_io() && card->decodes_memory() && card->masters_bus());
}

TEST_F(PciBus, BaseAddressesThatCannotBeAreRefused) {
    PciFunction function;
    EXPECT_FALSE(function.add_bar(6, PciBar::io, 256));
    EXPECT_FALSE(function.add_bar(0, PciBar::io, 0));
    EXPECT_FALSE(function.add_bar(0, PciBar::io, 2));
    EXPECT_FALSE(function.add_bar(0, PciBar::io, 96));
    EXPECT_FALSE(function.add_bar(0, PciBar::memory, 8));
    EXPECT_TRUE(function.add_bar(0, PciBar::io, 4));
    EXPECT_TRUE(function.add_bar(5, PciBar::memory, 0x8000'0000));
}

TEST_F(PciBus, PartsOfARegister) {
    PciFunction* const card = pci.add(3, 0, network_card);
    ASSERT_NE(card, nullptr);
    ASSERT_TRUE(card->add_bar(1, PciBar::memory, 4096));
    write(3, 0x16, 1, 0xbf);
    write(3, 0x17, 1, 0xfe);
    write(3, 0x14, 2, 0xffff);
    EXPECT_EQ(read(3, 0x14, 4), 0xfebf'f000U);
    EXPECT_EQ(read(3, 0x15, 1), 0xf0U);
    EXPECT_EQ(read(3, 0x16, 2), 0xfebfU);
}

TEST_F(PciBus, StatusBitsAreClearedByWritingOne) {
    PciFunction function;
    function.clearable[7] = 0xf9;
    function.set(6, 2, 0xf990);
    function.write(6, 2, 0x1000);
    EXPECT_EQ(function.read(6, 2), 0xe990U);
    function.write(6, 2, 0xffff);
    EXPECT_EQ(function.read(6, 2), 0x0090U);
}

TEST_F(PciBus, OffsetsWrapWithinTheFunction) {
    PciFunction function;
    function.set(0, 1, 0x12);
    function.set(0xff, 1, 0x34);
    EXPECT_EQ(function.read(0xff, 2), 0x1234U);
    EXPECT_EQ(function.read(0xffff'ffff, 1), 0x34U);
}

} // namespace
} // namespace previrt
