// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/process/frame_offsets.h"

#include <cstddef>
#include <cstdint>

// Linux's signal frame: its ABI of x86-64.
namespace previrt::process {

struct Frame {
    std::uint64_t flags;
    std::uint64_t link;
    std::uint64_t stack[3];
    std::uint64_t r8_to_r15[8];
    std::uint64_t rdi;
    std::uint64_t rsi;
    std::uint64_t rbp;
    std::uint64_t rbx;
    std::uint64_t rdx;
    std::uint64_t rax;
    std::uint64_t rcx;
    std::uint64_t rsp;
    std::uint64_t rip;
    std::uint64_t rflags;
    std::uint16_t cs;
    std::uint16_t gs;
    std::uint16_t fs;
    std::uint16_t ss;
    std::uint64_t error_code;
    std::uint64_t vector;
    std::uint64_t old_mask;
    std::uint64_t cr2;
    std::uint64_t vector_registers;
};
static_assert(offsetof(Frame, rax) == FRAME_RAX);
static_assert(offsetof(Frame, rip) == FRAME_RIP);
static_assert(offsetof(Frame, vector_registers) == FRAME_VECTOR_REGISTERS);

struct SignalInformation {
    std::int32_t signal;
    std::int32_t error;
    std::int32_t code;
    std::int32_t padding;
    std::uint64_t call_address;
    std::int32_t system_call;
    std::uint32_t architecture; // as <linux/audit.h> counts them
};

enum Signal : std::uint8_t {
    signal_illegal = 4,
    signal_trap = 5,
    signal_bus = 7,
    signal_arithmetic = 8,
    signal_segment = 11,
    signal_system_call = 31,
};

} // namespace previrt::process
