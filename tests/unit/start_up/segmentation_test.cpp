// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/start_up/program.hpp"

namespace previrt::start_up {

namespace {

using StartUpSegmentation = Program;

Bytes move_to_segment(unsigned number) { // from %ax
    return {0x8e, static_cast<std::uint8_t>(0xc0U | (number << 3U))};
}

TEST_F(StartUpSegmentation, BeginsAtTheVectorsPage) {
    const StartingProcessor started = after_start_up(0x9a, 0x806e9);
    EXPECT_EQ(started.rip, 0U);
    EXPECT_EQ(started.rflags, 2U);
    EXPECT_EQ(started.cr0, 0x60000010U);
    EXPECT_EQ(started.general[rdx], 0x806e9U);
    EXPECT_EQ(started.general[rax], 0U);
    EXPECT_EQ(started.segments[segment_cs].selector, 0x9a00U);
    EXPECT_EQ(started.segments[segment_cs].base, 0x9a000U);
    for (const Segment& segment : started.segments) {
        EXPECT_EQ(segment.limit, 0xffffU);
        EXPECT_EQ(segment.attributes, 0x93U);
    }
    EXPECT_EQ(started.gdt.limit, 0xffffU);
    EXPECT_EQ(started.debug[6], 0xffff0ff0U);
    EXPECT_EQ(started.debug[7], 0x400U);
    EXPECT_FALSE(started.is_in_64_bit_mode());
}

TEST_F(StartUpSegmentation, RealModeTakesTheBaseFromTheSelector) {
    general(rax) = 0x1234;
    execute(move_to_segment(segment_ds));
    EXPECT_EQ(segment(segment_ds).base, 0x12340U);
    EXPECT_EQ(segment(segment_ds).limit, 0xffffU);
    put(0x12345, 0xabcd, 2);
    execute({0xa1, 0x05, 0x00}); // mov 5, %ax
    EXPECT_EQ(general(rax), 0xabcdU);
}

TEST_F(StartUpSegmentation, RealModeReachesBeyondTheFirstMegabyte) {
    machine_.add_memory(0x100000, 0x10000);
    put(0x10ffee, 0x77, 1);
    general(rax) = 0xffff;
    execute(move_to_segment(segment_ds));
    execute({0xa0, 0xfe, 0xff}); // mov 0xfffe, %al
    EXPECT_EQ(general(rax), 0xff77U);
}

TEST_F(StartUpSegmentation, RealModeKeepsTheLimitOfProtectedMode) {
    segment(segment_ds).limit = ~std::uint32_t{0};
    general(rbx) = 0x12345;
    put(0x12345, 0x11, 1);
    execute({0x67, 0x8a, 0x03}); // mov (%ebx), %al
    EXPECT_EQ(general(rax), 0x11U);
    execute(move_to_segment(segment_ds));
    EXPECT_EQ(segment(segment_ds).limit, ~std::uint32_t{0});
}

TEST_F(StartUpSegmentation, RealModeWritesByWayOfCs) {
    general(rax) = 0x5a;
    execute({0x2e, 0xa2, 0x00, 0x02}); // mov %al, %cs:0x200
    EXPECT_EQ(get(0x1200, 1), 0x5aU);
    // Protected mode may have left other attributes.
    segment(segment_cs).attributes |= attribute_code;
    general(rax) = 0xa5;
    execute({0x2e, 0xa2, 0x00, 0x02});
    EXPECT_EQ(get(0x1200, 1), 0xa5U);
}

TEST_F(StartUpSegmentation, AnAccessEndsWithinTheLimit) {
    execute({0xa0, 0xff, 0xff});                          // mov 0xffff, %al
    expect_fault(general_protection, {0xa1, 0xff, 0xff}); // mov 0xffff, %ax
    general(rbx) = 0x10000;
    expect_fault(general_protection, {0x67, 0x8a, 0x03}); // mov (%ebx), %al
    expect_fault(stack_fault, {0x36, 0xa1, 0xff, 0xff});  // mov %ss:0xffff, %ax
    general(rsp) = 1;
    expect_fault(stack_fault, {0x50}); // push %ax: at 0xffff
    general(rsp) = 0;
    execute({0x50});
    EXPECT_EQ(general(rsp), 0xfffeU);
}

TEST_F(StartUpSegmentation, A16BitStackPointerKeepsItsUpperHalf) {
    general(rsp) = 0xabcd0000;
    execute({0x66, 0x50}); // push %eax
    EXPECT_EQ(general(rsp), 0xabcdfffcU);
    execute({0x66, 0x5a}); // pop %edx
    EXPECT_EQ(general(rsp), 0xabcd0000U);
}

TEST_F(StartUpSegmentation, CodeEndsWithTheSegment) {
    processor_.rip = 0xffff;
    expect_fault(general_protection, {0xb0, 0x01}); // mov $1, %al
    expect_fault(general_protection, {0xeb, 0x10}); // jmp
    execute({0x90});
    expect_fault(general_protection, {0x90}); // at 0x10000
}

TEST_F(StartUpSegmentation, DataSegmentsAreReadFromTheTable) {
    protect();
    general(rax) = small;
    execute(move_to_segment(segment_es));
    EXPECT_EQ(segment(segment_es).selector, small);
    EXPECT_EQ(segment(segment_es).base, 0x2000U);
    EXPECT_EQ(segment(segment_es).limit, 0x10U);
    EXPECT_EQ(segment(segment_es).attributes, 0x4093U);
    execute({0x26, 0xa0, 0x10, 0, 0, 0});                          // mov %es:0x10, %al
    expect_fault(general_protection, {0x26, 0xa0, 0x11, 0, 0, 0}); // mov %es:0x11, %al
    expect_fault(general_protection, {0x26, 0xa1, 0x0e, 0, 0, 0}); // mov %es:0xe, %eax
    general(rax) = data_16;
    execute(move_to_segment(segment_es));
    EXPECT_EQ(segment(segment_es).limit, 0xffffU);
    general(rax) = data_32;
    execute(move_to_segment(segment_es));
    EXPECT_EQ(segment(segment_es).limit, ~std::uint32_t{0});
}

TEST_F(StartUpSegmentation, LoadingSetsTheAccessedBit) {
    protect();
    general(rax) = unaccessed;
    execute(move_to_segment(segment_fs));
    EXPECT_EQ(get(table + unaccessed, 8), 0x00cf93000000ffffU);
    EXPECT_EQ(segment(segment_fs).attributes, 0xc093U);
}

TEST_F(StartUpSegmentation, NullSelectorsLoadAndDoNotWork) {
    protect();
    general(rax) = 3;
    for (const unsigned number : {segment_es, segment_fs, segment_gs, segment_ds}) {
        execute(move_to_segment(number));
        EXPECT_EQ(segment(number).selector, 3U);
    }
    expect_fault(general_protection, {0xa0, 0, 0, 0, 0});       // mov 0, %al
    expect_fault(general_protection, {0x64, 0xa2, 0, 0, 0, 0}); // mov %al, %fs:0
    expect_fault(general_protection, move_to_segment(segment_ss));
}

TEST_F(StartUpSegmentation, WhatADataSegmentRegisterRefuses) {
    protect();
    for (const unsigned selector : {unsigned{execute_only}, unsigned{local_table}, unsigned{outside},
                                    data_32 + 4U, data_32 + 3U, 0xfff8U}) {
        general(rax) = selector;
        expect_fault(general_protection, move_to_segment(segment_ds));
    }
    general(rax) = absent;
    expect_fault(segment_not_present, move_to_segment(segment_ds));
    for (const unsigned selector : {unsigned{read_only}, unsigned{code_32}, unsigned{user_data},
                                    user_data + 3U, unsigned{grows_down}, conforming + 3U}) {
        general(rax) = selector;
        execute(move_to_segment(segment_ds));
    }
}

TEST_F(StartUpSegmentation, WhatTheStackSegmentRegisterRefuses) {
    protect();
    for (const unsigned selector : {unsigned{read_only}, unsigned{code_32}, unsigned{user_data},
                                    user_data + 3U, data_32 + 1U, unsigned{outside}}) {
        general(rax) = selector;
        expect_fault(general_protection, move_to_segment(segment_ss));
    }
    general(rax) = absent;
    expect_fault(stack_fault, move_to_segment(segment_ss));
    general(rax) = code_32;
    expect_fault(invalid_opcode, move_to_segment(segment_cs));
    expect_fault(invalid_opcode, move_to_segment(6));
    general(rax) = data_16;
    execute(move_to_segment(segment_ss));
    general(rsp) = 0x10010;
    execute({0x50}); // push %eax: the stack has 16 bits
    EXPECT_EQ(general(rsp), 0x1000cU);
}

TEST_F(StartUpSegmentation, ADescriptorLiesWithinTheTable) {
    protect();
    general(rax) = unaccessed; // the last
    --processor_.gdt.limit;
    expect_fault(general_protection, move_to_segment(segment_ds));
    ++processor_.gdt.limit;
    execute(move_to_segment(segment_ds));
}

TEST_F(StartUpSegmentation, TypesForbidAccesses) {
    protect();
    execute({0x2e, 0xa0, 0, 0, 0, 0});                          // mov %cs:0, %al
    expect_fault(general_protection, {0x2e, 0xa2, 0, 0, 0, 0}); // mov %al, %cs:0
    general(rax) = read_only;
    execute(move_to_segment(segment_es));
    execute({0x26, 0xa0, 0, 0, 0, 0});
    expect_fault(general_protection, {0x26, 0xa2, 0, 0, 0, 0});
    expect_fault(general_protection, {0xaa}); // stos
    segment(segment_cs).attributes &= static_cast<std::uint16_t>(~attribute_writable);
    expect_fault(general_protection, {0x2e, 0xa0, 0, 0, 0, 0});
}

TEST_F(StartUpSegmentation, ASegmentMayGrowDown) {
    protect();
    general(rax) = grows_down;
    execute(move_to_segment(segment_es));
    expect_fault(general_protection, {0x26, 0xa0, 0xff, 0x0f, 0, 0}); // mov %es:0xfff, %al
    execute({0x26, 0xa0, 0x00, 0x10, 0, 0});                          // mov %es:0x1000, %al
    segment(segment_es).attributes &= static_cast<std::uint16_t>(~attribute_big);
    execute({0x26, 0xa0, 0xff, 0xff, 0, 0});                          // mov %es:0xffff, %al
    expect_fault(general_protection, {0x26, 0xa0, 0x00, 0x00, 1, 0}); // mov %es:0x10000, %al
}

TEST_F(StartUpSegmentation, AddressesStayBelow4Gib) {
    protect();
    general(rbx) = 0xfffffffe;
    expect_fault(general_protection, {0x8b, 0x03}); // mov (%ebx), %eax
    segment(segment_ds).base = 2;
    general(rbx) = 0xfffffffc;
    expect_refusal({0x8b, 0x03}); // from 0xfffffffe on
    segment(segment_ds).base = 0x2004;
    put(0x2000, 0x11223344, 4);
    execute({0x8b, 0x03}); // the base and the offset wrap
    EXPECT_EQ(general(rax), 0x11223344U);
}

} // namespace

} // namespace previrt::start_up
