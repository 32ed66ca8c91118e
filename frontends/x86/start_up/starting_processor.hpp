// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/vcpu.hpp"

#include <cstdint>
#include <type_traits>

namespace previrt::start_up {

// Of a segment register: bits 40 to 55 of the descriptor, without the four of the limit.
enum Attribute : std::uint16_t {
    attribute_accessed = 1U << 0U,
    attribute_writable = 1U << 1U, // of code: readable
    attribute_down = 1U << 2U, // of data: the valid offsets are those above the limit; of code: conforming
    attribute_code = 1U << 3U,
    attribute_memory = 1U << 4U,  // code or data, no system segment
    attribute_present = 1U << 7U, // clear: a null selector was loaded
    attribute_long = 1U << 13U,
    attribute_big = 1U << 14U, // 32 bits
    attribute_pages = 1U << 15U,
};

// A segment register with what the processor keeps of its descriptor.
struct Segment {
    std::uint64_t base;
    std::uint32_t limit; // in bytes
    std::uint16_t selector;
    std::uint16_t attributes;

    [[nodiscard]] bool has(Attribute attribute) const { return (attributes & attribute) != 0; }
};

// A processor between its start-up message and 64-bit mode. Outside 64-bit mode the upper halves of the
// general registers are zero, R8 to R15 too.
struct StartingProcessor {
    std::uint64_t general[16]; // rax rcx rdx rbx rsp rbp rsi rdi r8..r15
    std::uint64_t rip;
    std::uint64_t rflags; // all of them
    Segment segments[6];  // es cs ss ds fs gs
    Segment ldt;
    Segment task;
    DescriptorTable gdt;
    DescriptorTable idt;
    std::uint64_t cr0;
    std::uint64_t cr2;
    std::uint64_t cr3;
    std::uint64_t cr4;
    std::uint64_t efer;
    std::uint64_t debug[8];

    [[nodiscard]] bool is_protected() const { return (cr0 & cr0_pe) != 0; }
    [[nodiscard]] bool has_long_mode_active() const { return (efer & efer_lma) != 0; }
    [[nodiscard]] bool is_in_64_bit_mode() const;
};
static_assert(std::is_trivially_copyable_v<StartingProcessor>);

// After INIT and a start-up message with this vector: real-address mode at vector * 0x1000. `signature` is
// EAX of CPUID leaf 1.
StartingProcessor after_start_up(std::uint8_t vector, std::uint32_t signature);

} // namespace previrt::start_up
