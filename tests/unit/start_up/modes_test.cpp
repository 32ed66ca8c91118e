// SPDX-License-Identifier: BSD-2-Clause
// Control registers, model-specific registers, and the far transfers between modes.
#include "tests/unit/start_up/program.hpp"

namespace previrt::start_up {

namespace {

using StartUpModes = Program;

constexpr std::uint64_t la57 = 1U << 12U;
constexpr std::uint64_t pcide = 1U << 17U;

const Bytes to_cr0 = {0x0f, 0x22, 0xc0}; // mov %eax, %cr0
const Bytes to_cr4 = {0x0f, 0x22, 0xe0};
const Bytes write_msr = {0x0f, 0x30};
const Bytes read_msr = {0x0f, 0x32};

Bytes far_jump(std::uint16_t selector, std::uint32_t offset) { // in 32-bit code
    return {0xea,
            static_cast<std::uint8_t>(offset),
            static_cast<std::uint8_t>(offset >> 8U),
            static_cast<std::uint8_t>(offset >> 16U),
            static_cast<std::uint8_t>(offset >> 24U),
            static_cast<std::uint8_t>(selector),
            static_cast<std::uint8_t>(selector >> 8U)};
}

TEST_F(StartUpModes, ProtectedModeBeginsWithTheNextFarJump) {
    general(rax) = 0x11;
    execute(to_cr0);
    EXPECT_TRUE(processor_.is_protected());
    EXPECT_EQ(segment(segment_cs).selector, 0x100U);
    const Report report = step({0x66, 0xea, 0x00, 0x12, 0, 0, code_32, 0}); // ljmpl
    EXPECT_EQ(report.ending, Ending::going_on);
    EXPECT_EQ(processor_.rip, 0x1200U);
    EXPECT_EQ(segment(segment_cs).base, 0U);
    EXPECT_EQ(segment(segment_cs).limit, ~std::uint32_t{0});
    EXPECT_EQ(segment(segment_cs).attributes, 0xc09bU);
    execute({0xb8, 0x78, 0x56, 0x34, 0x12}); // mov $0x12345678, %eax
    EXPECT_EQ(general(rax), 0x12345678U);
}

TEST_F(StartUpModes, AndRealModeWithAJumpFrom16Bits) {
    protect();
    EXPECT_EQ(step(far_jump(code_16, 0x1800)).ending, Ending::going_on);
    EXPECT_FALSE(segment(segment_cs).has(attribute_big));
    general(rax) = cr0_et;
    execute(to_cr0);
    EXPECT_EQ(step({0xea, 0x34, 0x00, 0x00, 0x02}).ending, Ending::going_on); // ljmp $0x200, $0x34
    EXPECT_EQ(segment(segment_cs).base, 0x2000U);
    EXPECT_EQ(segment(segment_cs).selector, 0x200U);
    EXPECT_EQ(processor_.rip, 0x34U);
}

TEST_F(StartUpModes, FarJumpsToWhatIsNoCodeOfLevel0) {
    protect();
    for (const unsigned selector :
         {unsigned{null_selector}, unsigned{data_32}, unsigned{local_table}, unsigned{user_code},
          user_code + 3U, code_32 + 1U, code_32 + 4U, unsigned{outside}}) {
        expect_fault(general_protection, far_jump(static_cast<std::uint16_t>(selector), 0x1000));
    }
    put(table + code_64, 0x00cf1b000000ffff, 8);
    expect_fault(segment_not_present, far_jump(code_64, 0x1000));
    expect_fault(general_protection, far_jump(code_16, 0x10000)); // past its limit
    EXPECT_EQ(step(far_jump(conforming + 3, 0x1000)).ending, Ending::going_on);
    EXPECT_EQ(segment(segment_cs).selector, conforming);
}

TEST_F(StartUpModes, SixtyFourBitCodeNeedsLongMode) {
    protect();
    expect_refusal(far_jump(code_64, 0x1000));
    activate_long_mode();
    expect_fault(general_protection, far_jump(both_sizes, 0x1000));
    general(rsp) = 0x3000;
    expect_refusal({0x9a, 0, 0x10, 0, 0, code_64, 0}); // lcall
    const Report report = step(far_jump(code_64, 0xfffffff0));
    EXPECT_EQ(report.ending, Ending::long_mode);
    EXPECT_EQ(report.steps, 1U);
    EXPECT_TRUE(processor_.is_in_64_bit_mode());
    EXPECT_EQ(processor_.rip, 0xfffffff0U);
}

TEST_F(StartUpModes, SixtyFourBitModeByReturnAndByPointer) {
    activate_long_mode();
    const StartingProcessor before = processor_;
    general(rsp) = 0x3000;
    put(0x3000, 0x4000, 4);
    put(0x3004, code_64, 4);
    put(0x3008, 2, 4);
    EXPECT_EQ(step({0xcb}).ending, Ending::long_mode); // lret
    EXPECT_EQ(processor_.rip, 0x4000U);
    EXPECT_EQ(general(rsp), 0x3008U);
    processor_ = before;
    general(rsp) = 0x3000;
    EXPECT_EQ(step({0xcf}).ending, Ending::long_mode); // iret
    EXPECT_EQ(general(rsp), 0x300cU);
    processor_ = before;
    general(rax) = 0x3000;
    EXPECT_EQ(step({0xff, 0x28}).ending, Ending::long_mode); // ljmp *(%eax)
    EXPECT_EQ(processor_.rip, 0x4000U);
}

TEST_F(StartUpModes, ReturnsStayAtLevel0) {
    protect();
    general(rsp) = 0x3000;
    put(0x3000, 0x4000, 4);
    put(0x3004, user_code + 3, 4);
    expect_refusal({0xcb});
    put(0x3004, code_32, 4);
    put(0x3008, flag_virtual_8086, 4);
    expect_refusal({0xcf});
    put(0x3008, flag_trap, 4);
    expect_refusal({0xcf});
    put(0x3008, 0, 4);
    processor_.rflags |= flag_nested_task;
    expect_refusal({0xcf});
}

TEST_F(StartUpModes, WhatCr0Refuses) {
    general(rax) = cr0_pg;
    expect_fault(general_protection, to_cr0);
    general(rax) = cr0_nw;
    expect_fault(general_protection, to_cr0);
    protect();
    general(rax) = cr0_pg | cr0_pe;
    expect_refusal(to_cr0); // paging with 32 bits
    processor_.efer = efer_lme;
    expect_fault(general_protection, to_cr0);
    processor_.cr4 = cr4_pae;
    execute(to_cr0);
    EXPECT_EQ(processor_.cr0, cr0_pg | cr0_pe | cr0_et);
    EXPECT_EQ(processor_.efer, efer_lme | efer_lma);
}

TEST_F(StartUpModes, LongModeEndsWithPaging) {
    activate_long_mode();
    general(rax) = cr0_pe;
    execute(to_cr0);
    EXPECT_EQ(processor_.efer, efer_lme);
    processor_.cr0 |= cr0_pg;
    processor_.cr4 |= pcide;
    expect_fault(general_protection, to_cr0);
}

TEST_F(StartUpModes, Cr0KeepsWhatItDefines) {
    protect();
    general(rax) = 0x7fffffff;
    execute(to_cr0);
    EXPECT_EQ(processor_.cr0, 0x6005003fU);
    execute({0x0f, 0x20, 0xc3}); // mov %cr0, %ebx
    EXPECT_EQ(general(rbx), 0x6005003fU);
    execute({0x0f, 0x06}); // clts
    EXPECT_EQ(processor_.cr0, 0x60050037U);
}

TEST_F(StartUpModes, WhatCr4Refuses) {
    general(rax) = 1U << 31U;
    expect_fault(general_protection, to_cr4);
    general(rax) = pcide;
    expect_fault(general_protection, to_cr4);
    general(rax) = la57;
    execute(to_cr4);
    activate_long_mode();
    for (const std::uint64_t value : {std::uint64_t{0}, cr4_pae | la57}) {
        general(rax) = value;
        expect_fault(general_protection, to_cr4);
    }
    general(rax) = cr4_pae | pcide;
    processor_.cr3 |= 1;
    expect_fault(general_protection, to_cr4);
    processor_.cr3 &= ~std::uint64_t{1};
    execute(to_cr4);
    execute({0x0f, 0x20, 0xe2}); // mov %cr4, %edx
    EXPECT_EQ(general(rdx), cr4_pae | pcide);
}

TEST_F(StartUpModes, OtherControlRegisters) {
    general(rax) = 0xdeadb000;
    execute({0x0f, 0x22, 0xd8}); // mov %eax, %cr3
    execute({0x0f, 0x22, 0xd0}); // mov %eax, %cr2
    EXPECT_EQ(processor_.cr3, 0xdeadb000U);
    EXPECT_EQ(processor_.cr2, 0xdeadb000U);
    execute({0x0f, 0x20, 0xd9}); // mov %cr3, %ecx
    EXPECT_EQ(general(rcx), 0xdeadb000U);
    for (const unsigned number : {1U, 5U, 7U}) {
        const auto operands = static_cast<std::uint8_t>(0xc0U | (number << 3U));
        expect_fault(invalid_opcode, {0x0f, 0x22, operands});
        expect_fault(invalid_opcode, {0x0f, 0x20, operands});
    }
}

TEST_F(StartUpModes, MachineStatusWord) {
    general(rax) = 0xfff1;
    execute({0x0f, 0x01, 0xf0}); // lmsw %ax
    EXPECT_EQ(processor_.cr0, 0x60000011U);
    general(rax) = 0x0e;
    execute({0x0f, 0x01, 0xf0}); // does not clear PE
    EXPECT_EQ(processor_.cr0, 0x6000001fU);
    execute({0x0f, 0x01, 0xe3}); // smsw %bx
    EXPECT_EQ(general(rbx), 0x1fU);
    execute({0x66, 0x0f, 0x01, 0xe3}); // smsw %ebx
    EXPECT_EQ(general(rbx), 0x6000001fU);
    put(0x300, ~std::uint64_t{0}, 8);
    execute({0x66, 0x0f, 0x01, 0x26, 0x00, 0x03}); // smsw 0x300
    EXPECT_EQ(get(0x300, 4), 0xffff001fU);
}

TEST_F(StartUpModes, DebugRegisters) {
    general(rax) = 0;
    execute({0x0f, 0x23, 0xf8}); // mov %eax, %dr7
    execute({0x0f, 0x23, 0xf0}); // mov %eax, %dr6
    general(rax) = 0x1234;
    execute({0x0f, 0x23, 0xd8}); // mov %eax, %dr3
    execute({0x0f, 0x21, 0xfb}); // mov %dr7, %ebx
    EXPECT_EQ(general(rbx), 0x400U);
    execute({0x0f, 0x21, 0xe3}); // mov %dr4, %ebx
    EXPECT_EQ(general(rbx), 0xffff0ff0U);
    EXPECT_EQ(processor_.debug[3], 0x1234U);
    general(rax) = 1;
    expect_refusal({0x0f, 0x23, 0xf8});
    processor_.cr4 = cr4_de;
    expect_fault(invalid_opcode, {0x0f, 0x23, 0xe0}); // mov %eax, %dr4
}

TEST_F(StartUpModes, ExtendedFeatureRegister) {
    general(rcx) = 0xc0000080;
    general(rax) = efer_lme | efer_sce | efer_lma;
    general(rdx) = 0;
    execute(write_msr);
    EXPECT_EQ(processor_.efer, efer_lme | efer_sce); // LMA is the processor's
    general(rdx) = 1;
    expect_fault(general_protection, write_msr);
    general(rdx) = 0;
    activate_long_mode();
    general(rax) = efer_lme | efer_nxe;
    execute(write_msr);
    execute(read_msr);
    EXPECT_EQ(general(rax), efer_lme | efer_lma | efer_nxe);
    general(rax) = efer_lma;
    expect_fault(general_protection, write_msr);
}

TEST_F(StartUpModes, OtherModelRegistersAreTheSurroundings) {
    general(rcx) = 0x1b;
    expect_fault(general_protection, read_msr);
    expect_fault(general_protection, write_msr);
    machine_.model_registers[0x1b] = 0x1'fee00800;
    execute(read_msr);
    EXPECT_EQ(general(rax), 0xfee00800U);
    EXPECT_EQ(general(rdx), 1U);
    general(rdx) = 2;
    execute(write_msr);
    EXPECT_EQ(machine_.model_registers[0x1b], 0x2'fee00800U);
    machine_.model_registers[0x10] = 0x5'00000006;
    execute({0x0f, 0x31}); // rdtsc
    EXPECT_EQ(general(rax), 6U);
    EXPECT_EQ(general(rdx), 5U);
}

TEST_F(StartUpModes, BasesOfFsAndGs) {
    general(rcx) = 0xc0000100;
    general(rax) = 0x2000;
    general(rdx) = 0;
    execute(write_msr);
    general(rcx) = 0xc0000101;
    general(rdx) = 0xffff8880;
    execute(write_msr);
    EXPECT_EQ(segment(segment_fs).base, 0x2000U);
    EXPECT_EQ(segment(segment_gs).base, 0xffff888000002000U);
    general(rax) = 0;
    general(rdx) = 0;
    execute(read_msr);
    EXPECT_EQ(general(rdx), 0xffff8880U);
    general(rdx) = 0x8000;
    expect_fault(general_protection, write_msr);
    put(0x2010, 0x99, 1);
    execute({0x65, 0xa0, 0x10, 0x00}); // mov %gs:0x10, %al: the lower half of the base counts
    EXPECT_EQ(general(rax) & 0xffU, 0x99U);
}

TEST_F(StartUpModes, DescriptorTables) {
    put(0x300, 0x12345678'0027, 6);
    execute({0x0f, 0x01, 0x16, 0x00, 0x03}); // lgdt 0x300
    EXPECT_EQ(processor_.gdt.base, 0x345678U);
    EXPECT_EQ(processor_.gdt.limit, 0x27U);
    execute({0x66, 0x0f, 0x01, 0x16, 0x00, 0x03}); // lgdtl 0x300
    EXPECT_EQ(processor_.gdt.base, 0x12345678U);
    execute({0x67, 0x66, 0x0f, 0x01, 0x1d, 0x00, 0x03, 0, 0}); // addr32 lidtl 0x300
    EXPECT_EQ(processor_.idt.base, 0x12345678U);
    EXPECT_EQ(processor_.idt.limit, 0x27U);
    execute({0x66, 0x0f, 0x01, 0x06, 0x10, 0x03}); // sgdtl 0x310
    EXPECT_EQ(get(0x310, 6), 0x12345678'0027U);
    execute({0x0f, 0x01, 0x0e, 0x20, 0x03}); // sidt 0x320
    EXPECT_EQ(get(0x320, 6), 0x00345678'0027U);
    expect_refusal({0x0f, 0x01, 0xd0}); // xgetbv
    expect_refusal({0x0f, 0x01, 0xf8}); // swapgs
    protect();
    put(0x300, 0x12345678'0017, 6);
    general(rbx) = 0x300;
    execute({0x0f, 0x01, 0x13}); // lgdt (%ebx)
    EXPECT_EQ(processor_.gdt.base, 0x12345678U);
    execute({0x0f, 0x01, 0x3b}); // invlpg (%ebx)
    general(rax) = 0;
    execute({0x0f, 0x00, 0xd0}); // lldt %ax
    EXPECT_FALSE(processor_.ldt.has(attribute_present));
    general(rax) = local_table;
    expect_refusal({0x0f, 0x00, 0xd0});
    expect_refusal({0x0f, 0x00, 0xd8}); // ltr %ax
}

TEST_F(StartUpModes, ATableInMemoryThatIsMissing) {
    protect();
    processor_.gdt.base = 0x40000000;
    general(rax) = data_32;
    expect_fault(page_fault, {0x8e, 0xd8});
    processor_.gdt.base = 0xffffffec; // the descriptor begins 4 bytes before the end of 4 GiB
    expect_refusal({0x8e, 0xd8});
}

} // namespace

} // namespace previrt::start_up
