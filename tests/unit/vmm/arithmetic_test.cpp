// SPDX-License-Identifier: BSD-2-Clause
// The VMM's arithmetic against this processor's.
#include "frontends/x86/instructions/arithmetic.hpp"

#include <cstdint>
#include <gtest/gtest.h>
#include <random>

namespace previrt {

namespace {

// With the carry flag as given. The width is the type's.
template <typename Number>
Outcome of_processor(Operation operation, Number left, Number right, bool carry) {
    std::uint64_t flags = 0; // NOLINT(misc-const-correctness): asm writes it
    const auto in = static_cast<std::uint8_t>(carry ? 1 : 0);
#define PREVIRT_RUN(mnemonic)                                                                                \
    asm volatile("addb $-1, %[carry]\n\t" mnemonic " %[right], %[left]\n\tpushfq\n\tpopq %[flags]"           \
                 : [left] "+q"(left), [flags] "=&r"(flags)                                                   \
                 : [right] "q"(right), [carry] "q"(in)                                                       \
                 : "cc", "memory")
    switch (operation) {
    case Operation::add:
        PREVIRT_RUN("add");
        break;
    case Operation::bitwise_or:
        PREVIRT_RUN("or");
        break;
    case Operation::add_with_carry:
        PREVIRT_RUN("adc");
        break;
    case Operation::subtract_with_borrow:
        PREVIRT_RUN("sbb");
        break;
    case Operation::bitwise_and:
        PREVIRT_RUN("and");
        break;
    case Operation::subtract:
        PREVIRT_RUN("sub");
        break;
    case Operation::bitwise_exclusive_or:
        PREVIRT_RUN("xor");
        break;
    case Operation::compare: {
        const Number before = left;
        PREVIRT_RUN("cmp");
        left = static_cast<Number>(before - right);
        break;
    }
    }
#undef PREVIRT_RUN
    return {.value = left, .flags = flags & outcome_flags};
}

// AF is left open after these.
std::uint64_t defined_flags(Operation operation) {
    constexpr std::uint64_t adjust = 1U << 4U;
    const bool is_bitwise = operation == Operation::bitwise_and || operation == Operation::bitwise_or ||
                            operation == Operation::bitwise_exclusive_or;
    return is_bitwise ? outcome_flags & ~adjust : outcome_flags;
}

template <typename Number>
void compare(Operation operation, std::uint64_t left, std::uint64_t right, bool carry) {
    const Outcome ours = calculate(operation, left, right, carry, sizeof(Number));
    const Outcome theirs =
        of_processor<Number>(operation, static_cast<Number>(left), static_cast<Number>(right), carry);
    const std::uint64_t defined = defined_flags(operation);
    ASSERT_EQ(ours.value, theirs.value) << static_cast<unsigned>(operation) << ' ' << left << ' ' << right;
    ASSERT_EQ(ours.flags & defined, theirs.flags & defined)
        << static_cast<unsigned>(operation) << ' ' << left << ' ' << right << ' ' << sizeof(Number);
}

TEST(Arithmetic, AsTheProcessor) {
    constexpr std::uint64_t edges[] = {0,
                                       1,
                                       0xf,
                                       0x7f,
                                       0x80,
                                       0xff,
                                       0x7fff,
                                       0x8000,
                                       0xffff,
                                       0x7fffffff,
                                       0x80000000,
                                       0xffffffff,
                                       0x7fffffffffffffff,
                                       0x8000000000000000,
                                       ~std::uint64_t{0}};
    std::mt19937_64 random(1);
    const auto operand = [&] {
        return random() % 2 == 0 ? edges[random() % std::size(edges)] : random() >> (random() % 64);
    };
    for (unsigned i = 0; i < 200'000; ++i) {
        const auto operation = static_cast<Operation>(random() % 8);
        const std::uint64_t left = operand();
        const std::uint64_t right = operand();
        const bool carry = random() % 2 == 0;
        compare<std::uint8_t>(operation, left, right, carry);
        compare<std::uint16_t>(operation, left, right, carry);
        compare<std::uint32_t>(operation, left, right, carry);
        compare<std::uint64_t>(operation, left, right, carry);
        ASSERT_FALSE(HasFailure());
    }
}

} // namespace

} // namespace previrt
