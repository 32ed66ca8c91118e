// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/instructions/arithmetic.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace previrt {

// The instructions that compilers and Linux emit for an access to a device register without annotation: mov,
// movzx, movsx, xchg, test and arithmetic with memory, movs and stos.
struct MemoryInstruction {
    enum class Action : std::uint8_t {
        load, // movzx and movsx too
        store,
        exchange,
        calculate_in_memory,
        calculate_in_register,
        move_string,
        store_string,
    };

    Action action;
    Operation operation;
    bool keeps_result; // cmp and test do not
    bool extends_sign; // of the loaded value
    bool has_immediate;
    bool repeats;
    bool rex;
    unsigned width;          // of the access, in bytes
    unsigned register_width; // of a load
    unsigned reg;
    std::uint64_t immediate; // sign-extended
    std::uint64_t effective;
    std::uint64_t next;

    [[nodiscard]] bool writes_memory() const;
};

// Of 64-bit code, with the guest's registers as they are now. nullopt: another instruction, or an incomplete
// one.
std::optional<MemoryInstruction> decode_memory_instruction(std::uint64_t address,
                                                           std::span<const std::uint8_t> bytes);

// Takes effect and moves RIP behind the instruction, or raises an exception and changes nothing. A repeated
// instruction does one element, and leaves RIP unchanged while more remain.
void execute_memory_instruction(const MemoryInstruction& instruction);

} // namespace previrt
