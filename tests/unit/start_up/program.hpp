// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/processor/segment_registers.hpp"
#include "frontends/x86/start_up/interpreter.hpp"
#include "tests/unit/start_up/machine.hpp"

#include <cstdint>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace previrt::start_up {

using Bytes = std::vector<std::uint8_t>;

// A processor at the first byte of a page, in a machine with 128 KiB.
class Program : public testing::Test {
protected:
    static constexpr std::uint64_t code = 0x1000;
    static constexpr std::uint64_t table = 0x500;
    static constexpr std::uint64_t memory_bytes = 0x20000;

    // Descriptors from selector 8 on.
    enum Selector : std::uint16_t {
        null_selector = 0,
        code_32 = 0x08,
        data_32 = 0x10,
        code_16 = 0x18,
        data_16 = 0x20,
        read_only = 0x28,
        execute_only = 0x30,
        absent = 0x38,
        user_data = 0x40,
        grows_down = 0x48,
        local_table = 0x50,
        code_64 = 0x58,
        conforming = 0x60,
        user_code = 0x68,
        small = 0x70,
        both_sizes = 0x78,
        unaccessed = 0x80,
        outside = 0x88,
    };

    Program() {
        machine_.add_memory(0, memory_bytes);
        constexpr std::uint64_t descriptors[] = {0,
                                                 0x00cf9b000000ffff,
                                                 0x00cf93000000ffff,
                                                 0x00009b000000ffff,
                                                 0x000093000000ffff,
                                                 0x00cf91000000ffff,
                                                 0x00cf99000000ffff,
                                                 0x00cf13000000ffff,
                                                 0x00cff3000000ffff,
                                                 0x0040970000000fff,
                                                 0x0000820000000fff,
                                                 0x00af9b000000ffff,
                                                 0x00cf9f000000ffff,
                                                 0x00cffb000000ffff,
                                                 0x0040930020000010,
                                                 0x00ef9b000000ffff,
                                                 0x00cf92000000ffff};
        for (std::size_t i = 0; i < std::size(descriptors); ++i) {
            put(table + (8 * i), descriptors[i], 8);
        }
        processor_.gdt = {.base = table, .limit = sizeof(descriptors) - 1};
    }

    void put(std::uint64_t place, std::uint64_t value, unsigned bytes) {
        Bytes text(bytes);
        for (unsigned i = 0; i < bytes; ++i) {
            text[i] = static_cast<std::uint8_t>(value >> (8 * i));
        }
        machine_.put(place, text);
    }
    std::uint64_t get(std::uint64_t place, unsigned bytes) { return machine_.get(place, bytes); }

    // Protected mode with 32 bits, as if entered in the usual way.
    void protect() {
        processor_.cr0 |= cr0_pe;
        constexpr std::uint16_t flat = 0xc093;
        for (Segment& segment : processor_.segments) {
            segment = {.base = 0, .limit = ~std::uint32_t{0}, .selector = data_32, .attributes = flat};
        }
        processor_.segments[segment_cs].selector = code_32;
        processor_.segments[segment_cs].attributes |= attribute_code;
        processor_.rip = code;
    }

    // And long mode, in 32-bit code.
    void activate_long_mode() {
        protect();
        processor_.cr4 = cr4_pae;
        processor_.efer = efer_lme | efer_lma;
        processor_.cr0 |= cr0_pg;
        constexpr std::uint32_t root = 0x8000;
        processor_.cr3 = root;
        put(root, root + 0x1003, 8);
        put(root + 0x1000, root + 0x2003, 8);
        put(root + 0x2000, 0x83, 8);
    }

    // Puts the bytes where the processor is and executes one instruction of them.
    Report step(const Bytes& bytes) {
        machine_.put((processor_.segments[segment_cs].base + processor_.rip) & 0xffffffffU, bytes);
        return run(processor_, surroundings_, 1);
    }
    // Which must be all of them.
    void execute(const Bytes& bytes) {
        const std::uint64_t behind = processor_.rip + bytes.size();
        const Report report = step(bytes);
        ASSERT_EQ(report.ending, Ending::going_on) << (report.reason == nullptr ? "" : report.reason);
        ASSERT_EQ(processor_.rip, behind);
    }
    // Which must raise this, and change nothing.
    void expect_fault(std::uint8_t vector, const Bytes& bytes) {
        const StartingProcessor before = processor_;
        const Report report = step(bytes);
        EXPECT_EQ(report.ending, Ending::fault) << (report.reason == nullptr ? "" : report.reason);
        EXPECT_EQ(report.vector, vector) << (report.reason == nullptr ? "" : report.reason);
        expect_unchanged(before, report);
    }
    void expect_refusal(const Bytes& bytes) {
        const StartingProcessor before = processor_;
        const Report report = step(bytes);
        EXPECT_EQ(report.ending, Ending::refused) << (report.reason == nullptr ? "" : report.reason);
        expect_unchanged(before, report);
    }

    std::uint64_t& general(unsigned number) { return processor_.general[number]; }
    Segment& segment(unsigned number) { return processor_.segments[number]; }

    Machine machine_;
    Surroundings surroundings_ = machine_.surroundings();
    StartingProcessor processor_ = after_start_up(code >> 12U, 0x600);

private:
    void expect_unchanged(const StartingProcessor& before, const Report& report) {
        EXPECT_NE(report.reason, nullptr);
        EXPECT_EQ(report.steps, 0U);
        EXPECT_EQ(report.offset, before.rip);
        EXPECT_EQ(report.selector, before.segments[segment_cs].selector);
        EXPECT_EQ(processor_.rip, before.rip);
        EXPECT_EQ(processor_.rflags, before.rflags);
        EXPECT_EQ(processor_.cr0, before.cr0);
        for (unsigned i = 0; i < 16; ++i) {
            EXPECT_EQ(processor_.general[i], before.general[i]);
        }
        for (unsigned i = 0; i < 6; ++i) {
            EXPECT_EQ(processor_.segments[i].selector, before.segments[i].selector);
            EXPECT_EQ(processor_.segments[i].base, before.segments[i].base);
        }
    }
};

} // namespace previrt::start_up
