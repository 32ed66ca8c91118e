// SPDX-License-Identifier: BSD-2-Clause
// Random bytes as code, tables and state, in surroundings that answer at random and look at each question.
#include "tests/unit/start_up/program.hpp"

#include <algorithm>
#include <random>

namespace previrt::start_up {

namespace {

constexpr std::uint64_t end_of_linear = std::uint64_t{1} << 32U;

// Code and data are what `random` says; every question must keep the rules of surroundings.hpp.
struct Hostile {
    std::mt19937_64 random;

    bool answers() { return random() % 32 != 0; }
};

Hostile& hostile(void* context) {
    return *static_cast<Hostile*>(context);
}

bool is_operand(unsigned width) {
    return width == 1 || width == 2 || width == 4;
}

bool read(void* context, const StartingProcessor& /*processor*/, std::uint64_t linear,
          std::span<std::uint8_t> to, Access access) {
    EXPECT_FALSE(to.empty());
    EXPECT_LE(to.size(), access == Access::fetch ? 15U : 8U);
    EXPECT_LE(linear + to.size(), end_of_linear);
    EXPECT_NE(access, Access::write);
    std::ranges::generate(to, [context] { return static_cast<std::uint8_t>(hostile(context).random()); });
    return hostile(context).answers();
}

bool write(void* context, const StartingProcessor& /*processor*/, std::uint64_t linear,
           std::span<const std::uint8_t> from) {
    EXPECT_TRUE(is_operand(static_cast<unsigned>(from.size())));
    EXPECT_LE(linear + from.size(), end_of_linear);
    return hostile(context).answers();
}

Exchange compare_exchange(void* context, const StartingProcessor& /*processor*/, std::uint64_t linear,
                          unsigned width, std::uint32_t /*expected*/, std::uint32_t desired) {
    EXPECT_TRUE(is_operand(width));
    EXPECT_LE(linear + width, end_of_linear);
    EXPECT_TRUE(width == 4 || desired >> (8 * width) == 0);
    return static_cast<Exchange>(hostile(context).random() % 3);
}

backend::CpuidLeaf cpuid(void* context, const StartingProcessor& /*processor*/, std::uint32_t leaf,
                         std::uint32_t subleaf) {
    return {
        .eax = static_cast<std::uint32_t>(hostile(context).random()), .ebx = leaf, .ecx = subleaf, .edx = 0};
}

bool read_msr(void* context, std::uint32_t /*number*/, std::uint64_t& value) {
    value = hostile(context).random();
    return hostile(context).answers();
}

bool write_msr(void* context, std::uint32_t /*number*/, std::uint64_t /*value*/) {
    return hostile(context).answers();
}

bool read_port(void* context, std::uint16_t /*port*/, unsigned width, std::uint32_t& value) {
    EXPECT_TRUE(is_operand(width));
    value = static_cast<std::uint32_t>(hostile(context).random());
    return hostile(context).answers();
}

bool write_port(void* context, std::uint16_t /*port*/, unsigned width, std::uint32_t value) {
    EXPECT_TRUE(is_operand(width));
    EXPECT_TRUE(width == 4 || value >> (8 * width) == 0);
    return hostile(context).answers();
}

// Any that instructions can leave.
StartingProcessor random_processor(std::mt19937_64& random) {
    StartingProcessor processor = after_start_up(static_cast<std::uint8_t>(random()), 0);
    for (unsigned i = 0; i < 8; ++i) {
        processor.general[i] = static_cast<std::uint32_t>(random() >> (random() % 64));
    }
    processor.rip = static_cast<std::uint32_t>(random() >> (random() % 64));
    for (Segment& segment : processor.segments) {
        segment = {.base = static_cast<std::uint32_t>(random() >> (random() % 64)),
                   .limit = static_cast<std::uint32_t>(random() >> (random() % 64)),
                   .selector = static_cast<std::uint16_t>(random()),
                   .attributes = static_cast<std::uint16_t>((random() & 0xf0ffU) | attribute_present)};
    }
    processor.segments[segment_cs].attributes &= static_cast<std::uint16_t>(~attribute_long);
    processor.cr0 = random() & cr0_pe;
    processor.gdt = {.base = static_cast<std::uint32_t>(random()),
                     .limit = static_cast<std::uint16_t>(random())};
    return processor;
}

void expect_possible(const StartingProcessor& processor) {
    for (const std::uint64_t value : processor.general) {
        EXPECT_LT(value, end_of_linear);
    }
    EXPECT_LT(processor.rip, end_of_linear);
    EXPECT_EQ(processor.rflags & 0xffff'ffff'ffc0'8128U, 0U);
    EXPECT_NE(processor.rflags & flag_reserved_one, 0U);
    const bool pages = (processor.cr0 & cr0_pg) != 0;
    EXPECT_EQ(pages, processor.has_long_mode_active());
    EXPECT_TRUE(!pages || processor.is_protected());
}

TEST(StartUpHostile, AnyBytesInAnySurroundings) {
    constexpr unsigned rounds = 60'000;
    constexpr std::uint64_t most_steps = 50;
    Hostile state{.random = std::mt19937_64(1)};
    const Surroundings surroundings = {.context = &state,
                                       .offered_cr4 = ~std::uint64_t{0},
                                       .offered_efer = efer_sce | efer_lme | efer_nxe,
                                       .read = read,
                                       .write = write,
                                       .compare_exchange = compare_exchange,
                                       .cpuid = cpuid,
                                       .read_msr = read_msr,
                                       .write_msr = write_msr,
                                       .read_port = read_port,
                                       .write_port = write_port};
    std::uint64_t steps = 0;
    unsigned endings[5] = {};
    for (unsigned i = 0; i < rounds; ++i) {
        StartingProcessor processor = random_processor(state.random);
        const Report report = run(processor, surroundings, most_steps);
        ASSERT_LE(report.steps, most_steps);
        ASSERT_LE(report.byte_count, sizeof(report.bytes));
        ASSERT_EQ(report.reason != nullptr,
                  report.ending == Ending::fault || report.ending == Ending::refused);
        expect_possible(processor);
        ASSERT_FALSE(HasFailure()) << i;
        steps += report.steps;
        ++endings[static_cast<unsigned>(report.ending)];
    }
    EXPECT_GT(steps, rounds / 2);
    for (const Ending ending : {Ending::halted, Ending::fault, Ending::refused}) {
        EXPECT_GT(endings[static_cast<unsigned>(ending)], 0U) << static_cast<unsigned>(ending);
    }
}

} // namespace

} // namespace previrt::start_up
