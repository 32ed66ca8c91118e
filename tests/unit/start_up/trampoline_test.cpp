// SPDX-License-Identifier: BSD-2-Clause
// A whole way from the start-up message to 64-bit mode, by trampoline.S.
#include "frontends/x86/processor/segment_registers.hpp"
#include "frontends/x86/start_up/interpreter.hpp"
#include "tests/unit/start_up/machine.hpp"

#include <gtest/gtest.h>
#include <string>

extern "C" {
extern const std::uint8_t trampoline[];
extern const std::uint8_t trampoline_end[];
extern const std::uint8_t trampoline_lock[];
extern const std::uint8_t trampoline_entry[];
extern const std::uint8_t trampoline_cr4[];
extern const std::uint8_t trampoline_efer[];
extern const std::uint8_t trampoline_root[];
extern const std::uint8_t trampoline_failed[];
}

namespace previrt::start_up {

namespace {

constexpr std::uint64_t place = 0x9a000;
constexpr std::uint8_t vector = place >> 12U;
constexpr std::uint32_t root = 0x10000;
constexpr std::uint32_t signature = 0x806e9;
constexpr std::uint64_t wanted_cr4 = cr4_pae | cr4_pge;
constexpr std::uint64_t wanted_efer = efer_sce | efer_lme | efer_nxe;
constexpr std::uint64_t many = 10'000;
constexpr std::uint32_t misc_enable = 0x1a0;
constexpr std::uint64_t hides_no_execute = std::uint64_t{1} << 34U;

std::uint64_t at(const std::uint8_t* symbol) {
    return place + static_cast<std::uint64_t>(symbol - trampoline);
}

std::vector<std::uint8_t> bytes_of(std::uint64_t value, unsigned count) {
    std::vector<std::uint8_t> bytes(count);
    for (unsigned i = 0; i < count; ++i) {
        bytes[i] = static_cast<std::uint8_t>(value >> (8 * i));
    }
    return bytes;
}

class StartUpTrampoline : public testing::Test {
protected:
    StartUpTrampoline() {
        machine_.add_memory(0, 0x100000);
        machine_.put(place, {trampoline, trampoline_end});
        machine_.put(at(trampoline_cr4), bytes_of(wanted_cr4, 4));
        machine_.put(at(trampoline_efer), bytes_of(wanted_efer, 8));
        machine_.put(at(trampoline_root), bytes_of(root, 4));
        // The first 2 MiB, mapped to themselves.
        machine_.put(root, bytes_of(root + 0x1003, 8));
        machine_.put(root + 0x1000, bytes_of(root + 0x2003, 8));
        machine_.put(root + 0x2000, bytes_of(0x83, 8));
        machine_.leaves[0] = {.eax = 13, .ebx = 0x756e6547, .ecx = 0x6c65746e, .edx = 0x49656e69};
        machine_.leaves[1] = {.eax = signature, .ebx = 0, .ecx = 0, .edx = 0};
        machine_.leaves[0x80000000] = {.eax = 0x80000008, .ebx = 0, .ecx = 0, .edx = 0};
        machine_.leaves[0x80000001] = {.eax = 0, .ebx = 0, .ecx = 0, .edx = 0x20100000};
        machine_.model_registers[misc_enable] = hides_no_execute | 1;
    }

    Report go(std::uint64_t most = many) { return run(processor_, surroundings_, most); }

    Machine machine_;
    Surroundings surroundings_ = machine_.surroundings();
    StartingProcessor processor_ = after_start_up(vector, signature);
};

TEST_F(StartUpTrampoline, Enters64BitMode) {
    const Report report = go();
    ASSERT_EQ(report.ending, Ending::long_mode) << (report.reason == nullptr ? "" : report.reason);
    EXPECT_EQ(processor_.rip, at(trampoline_entry));
    EXPECT_EQ(processor_.cr0, 0x80050033U);
    EXPECT_EQ(processor_.cr3, root);
    EXPECT_EQ(processor_.cr4, wanted_cr4);
    EXPECT_EQ(processor_.efer, wanted_efer | efer_lma);
    EXPECT_EQ(processor_.rflags & flag_interrupt, 0U);
    const Segment& code = processor_.segments[segment_cs];
    EXPECT_EQ(code.selector, 0x10U);
    EXPECT_EQ(code.base, 0U);
    EXPECT_TRUE(code.has(attribute_long));
    EXPECT_FALSE(code.has(attribute_big));
    for (const unsigned segment : {segment_es, segment_ss, segment_ds, segment_fs, segment_gs}) {
        EXPECT_EQ(processor_.segments[segment].selector, 0x18U);
        EXPECT_EQ(processor_.segments[segment].base, 0U);
        EXPECT_EQ(processor_.segments[segment].limit, 0xffffffffU);
    }
    EXPECT_EQ(processor_.general[rsp], place + 0x1000);
    EXPECT_EQ(processor_.idt.limit, 0U);
    EXPECT_EQ(processor_.gdt.limit, 31U);
    EXPECT_EQ(machine_.model_registers[misc_enable], 1U);
    EXPECT_EQ(machine_.get(at(trampoline_lock), 4), 1U);
    EXPECT_EQ(go().steps, 0U); // it stays there
}

TEST_F(StartUpTrampoline, TakesAnyNumberOfStepsAtATime) {
    StartingProcessor other = processor_;
    Report report{};
    std::uint64_t steps = 0;
    do {
        report = go(1);
        ++steps;
    } while (report.ending == Ending::going_on && steps < many);
    ASSERT_EQ(report.ending, Ending::long_mode);
    machine_.put(at(trampoline_lock), bytes_of(0, 4));
    machine_.model_registers[misc_enable] = hides_no_execute | 1;
    const Report at_once = run(other, surroundings_, many);
    EXPECT_EQ(at_once.steps, steps);
    EXPECT_EQ(other.rip, processor_.rip);
}

TEST_F(StartUpTrampoline, WaitsForTheLock) {
    machine_.put(at(trampoline_lock), bytes_of(1, 4));
    EXPECT_EQ(go().ending, Ending::going_on);
    EXPECT_EQ(processor_.general[rsp], 0U);
    machine_.put(at(trampoline_lock), bytes_of(0, 4));
    EXPECT_EQ(go().ending, Ending::long_mode);
}

TEST_F(StartUpTrampoline, TriesALostExchangeAgain) {
    machine_.lost_exchanges = 3;
    EXPECT_EQ(go().ending, Ending::long_mode);
    EXPECT_EQ(machine_.exchanges, 4U);
}

TEST_F(StartUpTrampoline, HaltsOnAProcessorWithoutLongMode) {
    machine_.leaves[0x80000001].edx = 0;
    EXPECT_EQ(go().ending, Ending::halted);
    EXPECT_EQ(place + processor_.rip, at(trampoline_failed) + 1);
}

TEST_F(StartUpTrampoline, LongModeNeedsPhysicalAddressExtension) {
    machine_.put(at(trampoline_cr4), bytes_of(0, 4));
    const Report report = go();
    ASSERT_EQ(report.ending, Ending::fault);
    EXPECT_EQ(report.vector, general_protection);
    EXPECT_STREQ(report.reason, "CR0 gets PG with EFER.LME and without CR4.PAE");
    EXPECT_EQ(report.selector, 8U);
    // mov %eax, %cr0
    ASSERT_GE(report.byte_count, 3U);
    EXPECT_EQ(report.bytes[0], 0x0f);
    EXPECT_EQ(report.bytes[1], 0x22);
    EXPECT_EQ(report.bytes[2], 0xc0);
    EXPECT_EQ(report.offset, processor_.rip);
}

TEST_F(StartUpTrampoline, FaultsWhereTheTablesDoNotMapIt) {
    machine_.put(root + 0x2000, bytes_of(0, 8));
    const Report report = go();
    ASSERT_EQ(report.ending, Ending::fault);
    EXPECT_EQ(report.vector, page_fault);
    EXPECT_EQ(report.byte_count, 0U);
}

// Each of these bits is said to be unknown.
TEST_F(StartUpTrampoline, RefusesBitsThatAreNotOffered) {
    surroundings_.offered_efer = efer_sce | efer_lme;
    Report report = go();
    ASSERT_EQ(report.ending, Ending::fault);
    EXPECT_STREQ(report.reason, "EFER gets a bit that the processor does not offer");
    processor_ = after_start_up(vector, signature);
    machine_.put(at(trampoline_lock), bytes_of(0, 4));
    surroundings_.offered_cr4 = cr4_pae;
    report = go();
    ASSERT_EQ(report.ending, Ending::fault);
    EXPECT_STREQ(report.reason, "CR4 gets a bit that the processor does not offer");
}

} // namespace

} // namespace previrt::start_up
