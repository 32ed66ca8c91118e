// SPDX-License-Identifier: BSD-2-Clause
// Registers, and the ways to be enabled.
#include "devices/nvme/configuration_space.hpp"
#include "tests/unit/devices/nvme/machine.hpp"

#include <gtest/gtest.h>

namespace previrt {
namespace {

using namespace nvme;

TEST(NvmeRegisters, SayWhatTheControllerCan) {
    NvmeMachine machine;
    const std::uint64_t cap = machine.nvme.read(at::cap, 8).value_or(0);
    EXPECT_EQ(cap & 0xffffU, 1023U); // MQES
    EXPECT_NE(cap & cap_cqr, 0U);
    EXPECT_EQ((cap >> 32U) & 0xfU, 0U);  // DSTRD
    EXPECT_EQ((cap >> 37U) & 0xffU, 1U); // CSS
    EXPECT_EQ((cap >> 48U) & 0xffU, 0U); // MPSMIN, MPSMAX
    EXPECT_GT((cap >> 24U) & 0xffU, 0U); // TO
    EXPECT_EQ(machine.get(at::cap), static_cast<std::uint32_t>(cap));
    EXPECT_EQ(machine.get(at::cap + 4), cap >> 32U);
    EXPECT_EQ(machine.get(at::vs), 0x1'0400U);
    EXPECT_EQ(machine.csts(), 0U);
    EXPECT_EQ(machine.get(0x38), 0U); // CMBLOC, CMBSZ: no memory of its own
    EXPECT_EQ(machine.get(0x3c), 0U);
    EXPECT_EQ(machine.refused, 0U);
}

TEST(NvmeRegisters, TakeAlignedAccessesOf4And8Bytes) {
    NvmeMachine machine;
    EXPECT_FALSE(machine.nvme.read(at::cap, 1));
    EXPECT_FALSE(machine.nvme.read(at::cap, 2));
    EXPECT_FALSE(machine.nvme.read(at::cap + 2, 4));
    EXPECT_FALSE(machine.nvme.read(at::vs + 4, 8));
    EXPECT_FALSE(machine.nvme.write(at::cc, 2, 1));
    EXPECT_FALSE(machine.nvme.write(at::aqa, 8, 1));
    EXPECT_TRUE(machine.nvme.write(at::asq, 8, 0x1234'5678'9abc'd123));
    EXPECT_EQ(machine.get(at::asq), 0x9abc'd000U); // the start of a page
    EXPECT_EQ(machine.get(at::asq + 4), 0x1234'5678U);
}

TEST(NvmeRegisters, AnEnabledControllerIsReady) {
    NvmeMachine machine;
    machine.enable();
    EXPECT_EQ(machine.csts(), csts_rdy);
    machine.set(at::aqa, 0x0005'0005); // too late
    machine.set_pair(at::asq, 0x7000);
    EXPECT_EQ(machine.get(at::aqa), 0x001f'001fU);
    EXPECT_EQ(machine.get(at::asq), machine.pairs[0].submission);
    machine.set(at::cc, NvmeMachine::cc_of_drivers & ~cc_en);
    EXPECT_EQ(machine.csts(), 0U);
    machine.enable();
    EXPECT_EQ(machine.csts(), csts_rdy);
}

TEST(NvmeRegisters, ABrokenRuleIsFatalUntilTheReset) {
    for (const std::uint32_t cc : {0x0046'0081U, 0x0046'0011U, 0x0046'0801U}) { // MPS, CSS, AMS
        NvmeMachine machine;
        machine.set_admin_queues();
        machine.set(at::cc, cc);
        EXPECT_EQ(machine.csts(), csts_cfs) << std::hex << cc;
        machine.set(at::cc, 0);
        EXPECT_EQ(machine.csts(), 0U);
        machine.enable();
        EXPECT_EQ(machine.csts(), csts_rdy);
    }
    for (const std::uint32_t aqa : {0U, 0x1fU, 0x1f'0000U}) { // a queue of one entry
        NvmeMachine machine;
        machine.set(at::aqa, aqa);
        machine.set(at::cc, NvmeMachine::cc_of_drivers);
        EXPECT_EQ(machine.csts(), csts_cfs) << std::hex << aqa;
    }
}

TEST(NvmeRegisters, QueuesOutsideRamAreFatal) {
    for (const bool commands : {true, false}) {
        NvmeMachine machine;
        machine.set_admin_queues();
        machine.set_pair(commands ? at::asq : at::acq, NvmeMachine::ram_bytes);
        machine.set(at::cc, NvmeMachine::cc_of_drivers);
        EXPECT_EQ(machine.csts(), csts_rdy);
        machine.put(0, NvmeMachine::command(AdminOpcode::identify, 1));
        machine.ring(0);
        machine.settle();
        EXPECT_EQ(machine.csts(), csts_rdy | csts_cfs);
        EXPECT_FALSE(machine.take(0));
        machine.ring(0); // nothing happens any more
        machine.settle();
        EXPECT_EQ(machine.csts(), csts_rdy | csts_cfs);
    }
}

TEST(NvmeRegisters, TheLineFollowsCompletionsAndMask) {
    NvmeMachine machine;
    machine.enable();
    EXPECT_FALSE(machine.nvme.interrupt_line());
    machine.put(0, NvmeMachine::command(AdminOpcode::get_features, 7));
    machine.put(0, NvmeMachine::command(AdminOpcode::get_features, 7));
    machine.ring(0);
    EXPECT_FALSE(machine.nvme.interrupt_line());
    machine.settle();
    EXPECT_TRUE(machine.nvme.interrupt_line());
    machine.set(at::intms, 1);
    EXPECT_FALSE(machine.nvme.interrupt_line());
    EXPECT_EQ(machine.get(at::intmc), 1U);
    machine.set(at::intmc, 1);
    EXPECT_TRUE(machine.nvme.interrupt_line());
    EXPECT_TRUE(machine.take(0));
    EXPECT_TRUE(machine.nvme.interrupt_line()); // there is another
    EXPECT_TRUE(machine.take(0));
    EXPECT_FALSE(machine.nvme.interrupt_line());
}

TEST(NvmeRegisters, TheFunctionIsAnNvmeController) {
    Pci pci;
    const PciFunction* const function = add_function(pci, 16);
    ASSERT_NE(function, nullptr);
    EXPECT_EQ(function->read(0x09, 4) & 0xff'ffffU, 0x01'0802U); // class code
    EXPECT_EQ(function->read(0x3d, 1), 1U);                      // INTA#
    PciFunction sized = *function;
    sized.write(0x10, 4, 0xffff'ffff);
    EXPECT_EQ(sized.read(0x10, 4), 0xffff'c000U);
}

} // namespace
} // namespace previrt
