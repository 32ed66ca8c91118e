// SPDX-License-Identifier: BSD-2-Clause
// What the comparison with QEMU leaves out, and one example of each group.
#include "frontends/x86/start_up/execution.hpp"
#include "tests/unit/start_up/program.hpp"

namespace previrt::start_up {

namespace {

using StartUpInstructions = Program;

TEST_F(StartUpInstructions, PartsOfRegisters) {
    general(rax) = 0x11223344;
    execute({0xb4, 0xaa}); // mov $0xaa, %ah
    EXPECT_EQ(general(rax), 0x1122aa44U);
    execute({0xb8, 0x02, 0x01}); // mov $0x102, %ax
    EXPECT_EQ(general(rax), 0x11220102U);
    execute({0x66, 0xb8, 0xff, 0xff, 0xff, 0xff}); // mov $-1, %eax
    EXPECT_EQ(general(rax), 0xffffffffU);
}

TEST_F(StartUpInstructions, ArithmeticSetsFlags) {
    general(rax) = 0xffff;
    execute({0x83, 0xc0, 0x01}); // add $1, %ax
    EXPECT_EQ(general(rax), 0U);
    EXPECT_EQ(processor_.rflags & 0x8d5U, flag_carry | flag_zero | flag_parity | flag_adjust);
    execute({0x66, 0x83, 0xd0, 0xff}); // adc $-1, %eax
    EXPECT_EQ(general(rax), 0U);
    execute({0x48}); // dec %ax
    EXPECT_EQ(general(rax), 0xffffU);
    EXPECT_NE(processor_.rflags & flag_carry, 0U); // dec leaves it
}

TEST_F(StartUpInstructions, BitsOfMemoryLieOnBothSides) {
    general(rax) = 0xffffffef; // -17
    put(0x300, 0, 8);
    execute({0x66, 0x0f, 0xab, 0x06, 0x04, 0x03}); // btsl %eax, 0x304
    EXPECT_EQ(get(0x300, 8), 0x8000U);
    general(rax) = 33;
    execute({0x0f, 0xab, 0x06, 0x00, 0x03}); // bts %ax, 0x300
    EXPECT_EQ(get(0x304, 2), 2U);
}

TEST_F(StartUpInstructions, LockedOnesAreExchanges) {
    put(0x300, 0x10, 4);
    execute({0x66, 0xf0, 0x0f, 0xba, 0x2e, 0x00, 0x03, 0x00}); // lock btsl $0, 0x300
    EXPECT_EQ(get(0x300, 4), 0x11U);
    EXPECT_EQ(machine_.exchanges, 1U);
    general(rax) = 5;
    execute({0x87, 0x06, 0x00, 0x03}); // xchg %ax, 0x300
    EXPECT_EQ(general(rax), 0x11U);
    EXPECT_EQ(machine_.exchanges, 2U);
    execute({0xff, 0x06, 0x00, 0x03}); // inc 0x300
    EXPECT_EQ(get(0x300, 2), 6U);
    EXPECT_EQ(machine_.exchanges, 2U);
}

TEST_F(StartUpInstructions, ALostExchangeHasNoEffect) {
    put(0x300, 0x10, 4);
    general(rax) = 5;
    machine_.lost_exchanges = 1;
    const StartingProcessor before = processor_;
    const Report report = step({0xf0, 0x0f, 0xc1, 0x06, 0x00, 0x03}); // lock xadd %ax, 0x300
    EXPECT_EQ(report.ending, Ending::going_on);
    EXPECT_EQ(report.steps, 1U);
    EXPECT_EQ(processor_.rip, before.rip);
    EXPECT_EQ(processor_.rflags, before.rflags);
    EXPECT_EQ(general(rax), 5U);
    EXPECT_EQ(get(0x300, 4), 0x10U);
    execute({0xf0, 0x0f, 0xc1, 0x06, 0x00, 0x03});
    EXPECT_EQ(general(rax), 0x10U);
    EXPECT_EQ(get(0x300, 4), 0x15U);
}

TEST_F(StartUpInstructions, WhatTakesNoLockPrefix) {
    machine_.writable_ports = {0x80};
    expect_fault(invalid_opcode, {0xf0, 0x90});
    expect_fault(invalid_opcode, {0xf0, 0x01, 0xc0});                         // add %ax, %ax
    expect_fault(invalid_opcode, {0xf0, 0x89, 0x06, 0x00, 0x03});             // mov
    expect_fault(invalid_opcode, {0xf0, 0x39, 0x06, 0x00, 0x03});             // cmp
    expect_fault(invalid_opcode, {0xf0, 0xd1, 0x26, 0x00, 0x03});             // shl
    expect_fault(invalid_opcode, {0xf0, 0x0f, 0xba, 0x26, 0x00, 0x03, 0x00}); // bt
    expect_fault(invalid_opcode, {0xf0, 0xe6, 0x80});                         // out
    EXPECT_TRUE(machine_.written_ports.empty());
    EXPECT_EQ(get(0x300, 4), 0U);
}

TEST_F(StartUpInstructions, ARepeatedOneIsAStepForEachElement) {
    general(rcx) = 3;
    general(rdi) = 0x300;
    general(rax) = 0xabcd;
    const Bytes repeated = {0xf3, 0xab}; // rep stosw
    EXPECT_EQ(step(repeated).steps, 1U);
    EXPECT_EQ(processor_.rip, 0U);
    EXPECT_EQ(general(rcx), 2U);
    EXPECT_EQ(get(0x300, 4), 0xabcdU);
    step(repeated);
    execute(repeated);
    EXPECT_EQ(general(rcx), 0U);
    EXPECT_EQ(general(rdi), 0x306U);
    EXPECT_EQ(get(0x300, 8), 0xabcdabcdabcdU);
    execute(repeated); // with no element
    EXPECT_EQ(general(rdi), 0x306U);
}

TEST_F(StartUpInstructions, Ports) {
    expect_refusal({0xe4, 0x71}); // in $0x71, %al
    machine_.ports[0x71] = 0x1234;
    execute({0xe4, 0x71});
    EXPECT_EQ(general(rax), 0x34U);
    general(rdx) = 0x71;
    execute({0xed}); // in %dx, %ax
    EXPECT_EQ(general(rax), 0x1234U);
    expect_refusal({0xe6, 0x80}); // out %al, $0x80
    machine_.writable_ports = {0x80};
    execute({0xe6, 0x80});
    general(rdx) = 0x80;
    execute({0x66, 0xef}); // out %eax, %dx
    EXPECT_EQ(machine_.written_ports,
              (std::vector<std::pair<std::uint16_t, std::uint32_t>>{{0x80, 0x34}, {0x80, 0x1234}}));
}

TEST_F(StartUpInstructions, Identification) {
    machine_.leaves[7] = {.eax = 1, .ebx = 2, .ecx = 3, .edx = 4};
    general(rax) = 7;
    general(rbx) = 0xffffffff;
    execute({0x0f, 0xa2}); // cpuid
    EXPECT_EQ(general(rax), 1U);
    EXPECT_EQ(general(rbx), 2U);
    EXPECT_EQ(general(rcx), 3U);
    EXPECT_EQ(general(rdx), 4U);
}

TEST_F(StartUpInstructions, JumpsOf16BitsKeep16Bits) {
    processor_.rip = 0x100;
    step({0xe9, 0xfd, 0xfe}); // jmp -0x103
    EXPECT_EQ(processor_.rip, 0U);
    step({0xeb, 0xfc}); // jmp -4
    EXPECT_EQ(processor_.rip, 0xfffeU);
    protect();
    processor_.rip = 0x11000;
    step({0x66, 0xeb, 0x00});
    EXPECT_EQ(processor_.rip, 0x1003U);
    processor_.rip = 0x11000;
    general(rsp) = 0x4000;
    step({0x66, 0xe8, 0x00, 0x00});
    EXPECT_EQ(processor_.rip, 0x1004U);
    EXPECT_EQ(get(0x3ffe, 2), 0x1004U);
}

TEST_F(StartUpInstructions, HaltEndsTheRunBehindIt) {
    const Report report = step({0xf4});
    EXPECT_EQ(report.ending, Ending::halted);
    EXPECT_EQ(report.steps, 1U);
    EXPECT_EQ(processor_.rip, 1U);
    EXPECT_EQ(report.reason, nullptr);
}

TEST_F(StartUpInstructions, ThatDoNothingHere) {
    execute({0x0f, 0x09});             // wbinvd
    execute({0x0f, 0x08});             // invd
    execute({0xf3, 0x90});             // pause
    execute({0x0f, 0x1f, 0x40, 0x00}); // nop
    execute({0x0f, 0xae, 0xf0});       // mfence
    execute({0xf3, 0x0f, 0x1e, 0xfb}); // endbr32
}

TEST_F(StartUpInstructions, SingleStepsAreRefused) {
    general(rsp) = 0x400;
    put(0x400, flag_trap, 2);
    expect_refusal({0x9d}); // popf
    put(0x400, 0xfeff, 2);
    execute({0x9d});
    EXPECT_EQ(processor_.rflags, 0x7ed7U);
    execute({0x9c}); // pushf
    EXPECT_EQ(get(0x400, 2), 0x7ed7U);
}

TEST_F(StartUpInstructions, DivisionsThatHaveNoQuotient) {
    expect_fault(divide_error, {0xf7, 0xf3}); // div %bx
    general(rdx) = 1;
    general(rbx) = 1;
    expect_fault(divide_error, {0xf7, 0xf3});
    general(rdx) = 0x80000000;
    general(rbx) = 0xffffffff;
    expect_fault(divide_error, {0x66, 0xf7, 0xfb}); // idiv %ebx: of the least number by -1
    general(rdx) = 0;
    general(rax) = 0x8000;
    general(rbx) = 1;
    expect_fault(divide_error, {0xf7, 0xfb}); // idiv %bx
}

TEST_F(StartUpInstructions, WhatIsNotInterpreted) {
    for (const Bytes& bytes : std::vector<Bytes>{{0xcc},
                                                 {0xcd, 0x10},
                                                 {0xd8, 0xc0},
                                                 {0xdb, 0xe3},
                                                 {0x9b},
                                                 {0x27},
                                                 {0x62, 0x06, 0, 0},
                                                 {0x63, 0xc0},
                                                 {0x6c},
                                                 {0xc8, 0, 0, 0},
                                                 {0xd6},
                                                 {0xf1},
                                                 {0x0f, 0x05},
                                                 {0x0f, 0x0b},
                                                 {0x0f, 0x10, 0xc0},
                                                 {0x0f, 0xc7, 0x08},
                                                 {0x0f, 0x38, 0xf0, 0x06, 0, 0},
                                                 {0xf3, 0x0f, 0xbc, 0xc0},
                                                 {0x0f, 0xc8},
                                                 {0x0f, 0xa4, 0xc0, 0x11},
                                                 {0xfe, 0xd0},
                                                 {0xff, 0xf8},
                                                 {0xc6, 0xc8, 0},
                                                 {0x8f, 0xc8},
                                                 {0x0f, 0xba, 0xc0, 0},
                                                 {0x0f, 0xae, 0x06, 0, 3}}) {
        expect_refusal(bytes);
    }
    expect_fault(invalid_opcode, {0x8d, 0xc0}); // lea of a register
    expect_fault(invalid_opcode, {0xc4, 0xc0}); // les of one
    expect_fault(invalid_opcode, {0xff, 0xe8}); // ljmp of one
    expect_fault(invalid_opcode, {0x8c, 0xf0}); // mov from segment register 6
}

TEST_F(StartUpInstructions, TheReportHasTheBytes) {
    const Report report = step({0x2e, 0x0f, 0x0b});
    EXPECT_EQ(report.ending, Ending::refused);
    ASSERT_EQ(report.instruction().size(), 15U);
    EXPECT_EQ(report.bytes[0], 0x2e);
    EXPECT_EQ(report.bytes[2], 0x0b);
    EXPECT_EQ(report.selector, 0x100U);
    EXPECT_EQ(report.offset, 0U);
}

TEST_F(StartUpInstructions, AreNoLongerThan15Bytes) {
    Bytes bytes(14, 0x26);
    bytes.push_back(0x90);
    execute(bytes);
    bytes.insert(bytes.begin(), 0x26);
    expect_fault(general_protection, bytes);
    EXPECT_STREQ(step(bytes).reason, "the instruction is longer than 15 bytes");
}

TEST_F(StartUpInstructions, ThatCrossAPage) {
    protect();
    processor_.rip = 0x1ffe;
    execute({0xb8, 0x78, 0x56, 0x34, 0x12});
    EXPECT_EQ(general(rax), 0x12345678U);
    processor_.rip = memory_bytes - 2;
    machine_.put(memory_bytes - 2, {0xb8, 0x78});
    const Report report = run(processor_, surroundings_, 1);
    EXPECT_EQ(report.ending, Ending::fault);
    EXPECT_EQ(report.vector, page_fault);
    ASSERT_EQ(report.byte_count, 2U);
    EXPECT_EQ(report.bytes[1], 0x78);
    EXPECT_EQ(general(rax), 0x12345678U);
}

TEST_F(StartUpInstructions, ThatMissMemory) {
    protect();
    expect_fault(page_fault, {0xa1, 0, 0, 0, 0x40});             // mov 0x40000000, %eax
    expect_fault(page_fault, {0xa3, 0, 0, 0, 0x40});             // mov %eax, 0x40000000
    expect_fault(page_fault, {0xf0, 0xff, 0x05, 0, 0, 0, 0x40}); // lock incl 0x40000000
}

TEST_F(StartUpInstructions, ABoundOfZeroTakesNoStep) {
    const Report report = run(processor_, surroundings_, 0);
    EXPECT_EQ(report.ending, Ending::going_on);
    EXPECT_EQ(report.steps, 0U);
    EXPECT_EQ(processor_.rip, 0U);
}

} // namespace

} // namespace previrt::start_up
