// SPDX-License-Identifier: BSD-2-Clause
#include "backends/common/ring3/displaced_instructions.hpp"

#include "backends/common/ring3/user_call_sites.hpp"
#include "tests/unit/vmm/llvm_oracle.hpp"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace previrt {
namespace {

using Bytes = std::vector<std::uint8_t>;
using End = DisplacedInstructions::End;

DisplacedInstructions displaced(Bytes behind) {
    Bytes page{0x0f, 0x05};
    page.insert(page.end(), behind.begin(), behind.end());
    return displaced_at(page, 0);
}

Bytes starts_of(const DisplacedInstructions& found) {
    return {found.starts, found.starts + found.count};
}

TEST(DisplacedInstructions, AreThoseThatTheJumpCovers) {
    const DisplacedInstructions comparison = displaced({0x48, 0x3d, 0x00, 0xf0, 0xff, 0xff, 0x77});
    EXPECT_EQ(starts_of(comparison), Bytes{0});
    EXPECT_EQ(comparison.bytes, 6);
    EXPECT_EQ(comparison.end, End::next_instruction);
    EXPECT_EQ(comparison.target, 6);

    // mov %rax, %rdi; call
    const DisplacedInstructions call = displaced({0x48, 0x89, 0xc7, 0xe8, 0x10, 0x00, 0x00, 0x00});
    EXPECT_EQ(starts_of(call), (Bytes{0, 3}));
    EXPECT_EQ(call.bytes, 8);
    EXPECT_EQ(call.copied_bytes, 3);
    EXPECT_EQ(call.end, End::call);
    EXPECT_EQ(call.target, 0x18);

    // mov %rax, %rdi; jmp, of 2 bytes
    const DisplacedInstructions jump = displaced({0x48, 0x89, 0xc7, 0xeb, 0xf0});
    EXPECT_EQ(jump.end, End::jump);
    EXPECT_EQ(jump.target, 5 - 16);

    // mov %eax, %edx; push %rdx; mov $5, %r8d
    EXPECT_EQ(starts_of(displaced({0x89, 0xc2, 0x52, 0x41, 0xb8, 5, 0, 0, 0})), (Bytes{0, 2, 3}));
}

TEST(DisplacedInstructions, EndWithAReturnBeforePaddingAlone) {
    const Bytes nop{0xc3, 0x0f, 0x1f, 0x44, 0x00, 0x00};
    EXPECT_EQ(displaced(nop).end, End::ret);
    EXPECT_EQ(displaced(nop).copied_bytes, 1);
    EXPECT_EQ(displaced({0xc3, 0xcc, 0xcc, 0xcc, 0xcc}).end, End::ret);
    EXPECT_EQ(displaced({0xc3, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}).end, End::ret);
    EXPECT_EQ(displaced({0xc3, 0x55, 0x48, 0x89, 0xe5}).count, 0); // another function
    EXPECT_EQ(displaced({0xc3, 0x90, 0x90, 0x90, 0x55}).count, 0);
}

TEST(DisplacedInstructions, AreNoneThatDependOnTheirAddressOrAreCut) {
    EXPECT_EQ(displaced({0x48, 0x8d, 0x0d, 1, 2, 3, 4}).count, 0);       // lea, relative to RIP
    EXPECT_EQ(displaced({0x48, 0x85, 0xc0, 0x74, 0x10, 0x90}).count, 0); // a conditional jump
    EXPECT_EQ(displaced({0x48, 0x83, 0xf8, 0xda, 0x89, 0xc2}).count, 0); // one in the jump's last byte
    EXPECT_EQ(displaced({0x58, 0x48, 0x89, 0xc7, 0x90}).count, 0);       // one in its SIB byte
    EXPECT_EQ(displaced({0xf0, 0x48, 0x01, 0x03, 0x90}).count, 0); // a prefix that another way leaves out
    EXPECT_EQ(displaced({0xc7, 0xf8, 0x10, 0, 0, 0}).count, 0);    // xbegin
    EXPECT_EQ(displaced({0x48, 0x3d, 0x00, 0xf0, 0xff}).count, 0); // cut by the page's end
    EXPECT_EQ(displaced({0x48, 0x89, 0xc7, 0xe8, 0x10, 0x00, 0x00}).count, 0);
    EXPECT_EQ(displaced({0x90, 0x90}).count, 0);
}

TEST(DisplacedInstructions, AreSeenAtTheirOwnAddresses) {
    const DisplacedInstructions call = displaced({0x48, 0x89, 0xc7, 0xe8, 0x10, 0x00, 0x00, 0x00});
    EXPECT_TRUE(call.begins_at(0) && call.begins_at(3));
    EXPECT_FALSE(call.begins_at(1) || call.begins_at(8));
    EXPECT_EQ(call.seen_at(0), 0);
    EXPECT_EQ(call.seen_at(3), 3);
    EXPECT_EQ(call.seen_at(3 + 7), 0x18); // between push and jump
    const DisplacedInstructions comparison = displaced({0x48, 0x3d, 0x00, 0xf0, 0xff, 0xff});
    EXPECT_EQ(comparison.seen_at(6), 6);
}

TEST(DisplacedInstructions, WantASlotWhoseAddressFaults) {
    const DisplacedInstructions three = displaced({0x89, 0xc2, 0x52, 0x41, 0xb8, 5, 0, 0, 0});
    EXPECT_TRUE(three.can_use_slot(0x782fe400));
    EXPECT_FALSE(three.can_use_slot(0x782fe000)); // loopne
    EXPECT_FALSE(three.can_use_slot(0x7820e400)); // and
    EXPECT_TRUE(displaced({0x48, 0x3d, 0x00, 0xf0, 0xff, 0xff}).can_use_slot(0x78200000));
    for (unsigned number = 1; number < 512; number += 2) {
        EXPECT_TRUE(three.can_use_slot(0x782fe000 + (slot_index(number) * std::uint64_t{8}))) << number;
    }
}

// As LLVM decodes them: the same boundaries, and the same operands at any address.
TEST(DisplacedInstructions, AreWhatTheProcessorExecutes) {
    const LlvmOracle oracle;
    std::mt19937 random{1};
    constexpr std::uint64_t here = 0x400000;
    constexpr std::uint64_t there = 0x78300000;
    constexpr unsigned tries = 300'000;
    const Bytes common{0x48, 0x89, 0xc7, 0xe8, 0xe9, 0xeb, 0xc3, 0x63,
                       0x85, 0x8b, 0x41, 0xf7, 0xd8, 0x0f, 0x1f};
    unsigned found_ones = 0;
    for (unsigned i = 0; i < tries; ++i) {
        std::array<std::uint8_t, 20> code{};
        std::ranges::generate(code, [&] {
            const std::uint64_t number = random();
            return number % 2 == 0 ? common[(number >> 8U) % common.size()]
                                   : static_cast<std::uint8_t>(number >> 8U);
        });
        code[0] = 0x0f;
        code[1] = 0x05;
        const DisplacedInstructions found = displaced_at(code, 0);
        unsigned at = 0;
        for (unsigned instruction = 0; instruction < found.count; ++instruction) {
            ASSERT_EQ(found.starts[instruction], at);
            const std::span<const std::uint8_t> bytes = std::span(code).subspan(system_call_bytes + at);
            const auto decoded = oracle.decode(bytes, here);
            ASSERT_TRUE(decoded) << testing::PrintToString(code);
            EXPECT_EQ(decoded->memory, oracle.decode(bytes, there)->memory) << testing::PrintToString(code);
            const bool is_last = instruction + 1 == found.count;
            const bool is_relative = decoded->name.starts_with("J") || decoded->name.starts_with("CALL");
            EXPECT_EQ(is_relative, is_last && (found.end == End::call || found.end == End::jump))
                << decoded->name;
            at += decoded->length;
            if (is_relative) {
                EXPECT_EQ(found.target, static_cast<std::int64_t>(at) + *decoded->immediate);
            }
        }
        if (found.count != 0) {
            ++found_ones;
            EXPECT_EQ(found.bytes, at);
        }
    }
    EXPECT_GT(found_ones, tries / 100);
}

} // namespace
} // namespace previrt
