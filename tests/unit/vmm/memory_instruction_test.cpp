// SPDX-License-Identifier: BSD-2-Clause
// Accesses without an annotation: the decoder against LLVM's, what they do on RAM and on a device.
#include "frontends/x86/instructions/memory_instruction.hpp"

#include "frontends/x86/devices/device_access.hpp"
#include "frontends/x86/devices/floating_bus.hpp"
#include "frontends/x86/devices/machine.hpp"
#include "frontends/x86/paging/page_entry.hpp"
#include "frontends/x86/processor/exceptions.hpp"
#include "inplace-vmm/backend/memory.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/vcpu.hpp"
#include "tests/unit/vmm/fake_backend.hpp"
#include "tests/unit/vmm/llvm_oracle.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <random>

namespace previrt {

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::uint64_t ram_bytes = std::uint64_t{2} << 20U;
constexpr std::uint64_t code = 0x8000;
constexpr std::uint64_t data = 0x9000;
constexpr std::uint64_t task_priority = LocalApic::place + apic_task_priority;
constexpr std::uint64_t nothing = std::uint64_t{3} << 30U; // mapped, but no RAM and no device

// RAM is mapped to itself, the local APIC and what is nothing too, all by 2 MiB pages.
class MemoryInstructions : public testing::Test {
protected:
    MemoryInstructions() {
        fake::start(ram_bytes, 8);
        constexpr std::uint64_t root = 0x1000;
        constexpr std::uint64_t level3 = 0x2000;
        constexpr std::uint64_t low = 0x3000;
        constexpr std::uint64_t high = 0x4000;
        constexpr std::uint64_t rights = page_present | page_writable;
        put(root, level3 | rights);
        put(level3, low | rights);
        put(level3 + (std::uint64_t{3} * 8), high | rights);
        put(low, rights | page_large);
        for (const std::uint64_t address : {LocalApic::place, nothing}) {
            put(high + (table_index(address, 2) * std::uint64_t{8}),
                (address & ~(large_page_bytes - 1)) | rights | page_large);
        }
        vcpu.cr3 = root;
        vcpu.registers.rip = code;
        pc.start_apics(1);
    }

    static void put(std::uint64_t address, std::uint64_t value) {
        std::memcpy(backend::guest_ram() + address, &value, sizeof(value));
    }
    static std::uint64_t get(std::uint64_t address) {
        std::uint64_t value = 0;
        std::memcpy(&value, backend::guest_ram() + address, sizeof(value));
        return value;
    }
    static void place(const Bytes& bytes) {
        std::memcpy(backend::guest_ram() + code, bytes.data(), bytes.size());
    }

    // As a fault at that address comes here.
    static void run(const Bytes& bytes, std::uint64_t address = task_priority) {
        place(bytes);
        vcpu.registers.rip = code;
        execute_device_access(address, true);
    }

    std::uint64_t* const general_ = vcpu.registers.general;
};

// Of these, so many: all that compilers make, and what looks like it.
TEST_F(MemoryInstructions, AreDecodedAsByLlvm) {
    constexpr std::uint8_t opcodes[] = {0x00, 0x01, 0x02, 0x03, 0x08, 0x09, 0x0a, 0x0b, 0x10, 0x13, 0x18,
                                        0x1b, 0x20, 0x21, 0x22, 0x23, 0x28, 0x2b, 0x30, 0x31, 0x33, 0x38,
                                        0x39, 0x3a, 0x3b, 0x63, 0x80, 0x81, 0x83, 0x84, 0x85, 0x86, 0x87,
                                        0x88, 0x89, 0x8a, 0x8b, 0xc6, 0xc7, 0xf6, 0xf7};
    constexpr std::uint8_t extending[] = {0xb6, 0xb7, 0xbe, 0xbf};
    constexpr std::uint8_t prefixes[] = {0x66, 0x67, 0x64, 0x65, 0x3e};
    std::mt19937_64 random(1);
    const LlvmOracle llvm;
    for (unsigned i = 0; i < 16; ++i) {
        general_[i] = random();
    }
    fake::host.bases = {.fs = random(), .kernel_gs = random(), .user_gs = random()};
    unsigned compared = 0;
    for (unsigned i = 0; i < 100'000; ++i) {
        Bytes bytes;
        if (random() % 3 == 0) {
            bytes.push_back(prefixes[random() % std::size(prefixes)]);
        }
        if (random() % 2 == 0) {
            bytes.push_back(static_cast<std::uint8_t>(0x40 | (random() % 16)));
        }
        if (random() % 8 == 0) {
            bytes.push_back(0x0f);
            bytes.push_back(extending[random() % std::size(extending)]);
        } else {
            bytes.push_back(opcodes[random() % std::size(opcodes)]);
        }
        while (bytes.size() < 15) {
            bytes.push_back(static_cast<std::uint8_t>(random()));
        }
        const auto decoded = decode_memory_instruction(code, bytes);
        const auto oracle = llvm.decode(bytes, code);
        if (!decoded) {
            // With a register for memory, or the other members of a group: not, neg, mul, ...
            EXPECT_TRUE(!oracle || !oracle->memory || oracle->name.starts_with("NOT") ||
                        oracle->name.starts_with("NEG") || oracle->name.find("MUL") != std::string::npos ||
                        oracle->name.find("DIV") != std::string::npos)
                << oracle->name;
            continue;
        }
        ASSERT_TRUE(oracle) << testing::PrintToString(bytes);
        ASSERT_EQ(decoded->next, code + oracle->length) << oracle->name << testing::PrintToString(bytes);
        ASSERT_TRUE(oracle->memory) << oracle->name;
        ASSERT_EQ(decoded->effective, *oracle->memory) << oracle->name << testing::PrintToString(bytes);
        if (decoded->has_immediate && oracle->immediate) {
            const std::uint64_t mask = ~std::uint64_t{0} >> (64 - (8 * decoded->width));
            ASSERT_EQ(decoded->immediate & mask, static_cast<std::uint64_t>(*oracle->immediate) & mask)
                << oracle->name << testing::PrintToString(bytes);
        }
        ++compared;
    }
    EXPECT_GT(compared, 50'000U);
}

TEST_F(MemoryInstructions, AnythingIsDecodedOrNot) {
    std::mt19937_64 random(2);
    for (unsigned i = 0; i < 100'000; ++i) {
        Bytes bytes(random() % 16);
        for (std::uint8_t& byte : bytes) {
            byte = static_cast<std::uint8_t>(random());
        }
        const auto decoded = decode_memory_instruction(code, bytes);
        EXPECT_TRUE(!decoded || decoded->next <= code + bytes.size());
    }
}

TEST_F(MemoryInstructions, WidthsAndRegisters) {
    general_[rbx] = data;
    put(data, 0x8877665544332211);
    general_[rax] = ~std::uint64_t{0};
    run({0x8a, 0x23}); // mov (%rbx), %ah
    EXPECT_EQ(general_[rax], 0xffffffffffff11ffU);
    run({0x40, 0x8a, 0x23}); // with REX it is SPL
    EXPECT_EQ(general_[rsp], 0x11U);
    run({0x66, 0x8b, 0x03});
    EXPECT_EQ(general_[rax], 0xffffffffffff2211U);
    run({0x8b, 0x03});
    EXPECT_EQ(general_[rax], 0x44332211U);
    run({0x48, 0x8b, 0x03});
    EXPECT_EQ(general_[rax], 0x8877665544332211U);
    run({0x0f, 0xb6, 0x43, 0x07}); // movzbl 7(%rbx), %eax
    EXPECT_EQ(general_[rax], 0x88U);
    run({0x48, 0x0f, 0xbe, 0x43, 0x07}); // movsbq
    EXPECT_EQ(general_[rax], 0xffffffffffffff88U);
    run({0x66, 0x0f, 0xbe, 0x43, 0x07}); // movsbw: the rest stays
    EXPECT_EQ(general_[rax], 0xffffffffffffff88U);
    run({0x0f, 0xbf, 0x43, 0x06}); // movswl
    EXPECT_EQ(general_[rax], 0xffff8877U);
    run({0x48, 0x63, 0x43, 0x04}); // movslq
    EXPECT_EQ(general_[rax], 0xffffffff88776655U);
    run({0x88, 0x63, 0x01}); // mov %ah, 1(%rbx)
    EXPECT_EQ(get(data), 0x8877665544336611U);
    run({0x48, 0xc7, 0x03, 0xfe, 0xff, 0xff, 0xff});
    EXPECT_EQ(get(data), 0xfffffffffffffffeU);
    run({0x66, 0xc7, 0x03, 0x34, 0x12});
    EXPECT_EQ(get(data), 0xffffffffffff1234U);
    EXPECT_EQ(vcpu.registers.rip, code + 5);
}

TEST_F(MemoryInstructions, ReachTheDevice) {
    general_[rbx] = task_priority;
    run({0xc7, 0x03, 0x5a, 0, 0, 0});
    EXPECT_EQ(pc.local_apics.of(Pc::boot_processor).task_priority, 0x5aU);
    EXPECT_EQ(vcpu.cr8, 5U);
    run({0x81, 0x23, 0xf0, 0, 0, 0}); // andl
    EXPECT_EQ(pc.local_apics.of(Pc::boot_processor).task_priority, 0x50U);
    run({0x83, 0x3b, 0x50}); // cmpl
    EXPECT_EQ(vcpu.registers.rflags & outcome_flags, flag_zero | 4U);
    general_[rax] = 0x21;
    run({0x87, 0x03}); // xchg
    EXPECT_EQ(general_[rax], 0x50U);
    EXPECT_EQ(pc.local_apics.of(Pc::boot_processor).task_priority, 0x21U);
    EXPECT_EQ(counters.trapped_sites[static_cast<std::uint8_t>(SiteKind::mmio_write)], 4U);
}

TEST_F(MemoryInstructions, StringsGoElementByElement) {
    put(data, 0x0000002200000011);
    general_[rsi] = data;
    general_[rdi] = task_priority;
    general_[rcx] = 2;
    run({0xf3, 0xa5});
    EXPECT_EQ(pc.local_apics.of(Pc::boot_processor).task_priority, 0x11U);
    EXPECT_EQ(vcpu.registers.rip, code);
    EXPECT_EQ(general_[rcx], 1U);
    EXPECT_EQ(general_[rsi], data + 4);
    general_[rdi] = task_priority;
    run({0xf3, 0xa5});
    EXPECT_EQ(pc.local_apics.of(Pc::boot_processor).task_priority, 0x22U);
    EXPECT_EQ(vcpu.registers.rip, code + 2);
    general_[rax] = 0x33;
    general_[rdi] = task_priority;
    vcpu.registers.rflags |= flag_direction;
    run({0xab});
    EXPECT_EQ(pc.local_apics.of(Pc::boot_processor).task_priority, 0x33U);
    EXPECT_EQ(general_[rdi], task_priority - 4);
    general_[rcx] = 0;
    run({0xf3, 0xab});
    EXPECT_EQ(vcpu.registers.rip, code + 2);
}

TEST_F(MemoryInstructions, FaultChangesNothing) {
    general_[rbx] = ram_bytes; // not mapped
    general_[rax] = 7;
    run({0x8b, 0x03});
    EXPECT_TRUE(exception_is_raised());
    EXPECT_EQ(vcpu.registers.rip, code);
    EXPECT_EQ(general_[rax], 7U);
    EXPECT_EQ(vcpu.cr2, ram_bytes);
}

std::string stop_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const fake::Stop& stop) {
        return stop.what();
    }
    return {};
}

TEST_F(MemoryInstructions, WhatIsNotModelledStopsTheGuest) {
    general_[rbx] = task_priority;
    const auto at = std::to_string(task_priority);
    // fnstenv (%rbx)
    EXPECT_TRUE(stop_of([] { run({0xd9, 0x33}); })
                    .starts_with("an access outside RAM by an instruction that is not modelled, at " + at +
                                 ": d9 33 "));
    EXPECT_EQ(stop_of([] { run({0x8a, 0x03}); }),
              "an access to a device's memory that is not modelled, at " + at);
}

TEST_F(MemoryInstructions, WhatNobodyAnswersFloatsUnlessItEndsTheGuest) {
    const std::string unclaimed =
        "an access outside RAM that no device claims, at " + std::to_string(nothing);
    general_[rbx] = nothing;
    general_[rax] = 7;
    const std::uint64_t before = counters.floating_memory;
    run({0x89, 0x03});
    EXPECT_EQ(general_[rax], 7U);
    run({0x8b, 0x03});
    EXPECT_EQ(general_[rax], 0xffffffffU);
    EXPECT_EQ(counters.floating_memory, before + 2);
    machine_state.floating_ends_guest = true;
    EXPECT_EQ(stop_of([] { run({0x8b, 0x03}); }), unclaimed);
    EXPECT_EQ(stop_of([] { run({0x89, 0x03}); }), unclaimed);
    machine_state.floating_ends_guest = false;
}

TEST_F(MemoryInstructions, AnnotatedAccesses) {
    Instruction access{};
    access.operand_is_memory = true;
    access.reg = rsi; // without REX, in 8 bits: DH
    access.width = 1;
    access.kind = SiteKind::mmio_write;
    access.effective = data;
    general_[rdx] = 0x1234;
    execute_annotated_access(access);
    EXPECT_EQ(get(data), 0x12U);
    access.kind = SiteKind::mmio_read;
    access.width = 4;
    access.reg = rax;
    access.effective = LocalApic::place + apic_version;
    general_[rax] = ~std::uint64_t{0};
    execute_annotated_access(access);
    EXPECT_EQ(general_[rax], apic_version_value);
    access.effective = ram_bytes;
    execute_annotated_access(access);
    EXPECT_TRUE(exception_is_raised());
}

} // namespace

} // namespace previrt
