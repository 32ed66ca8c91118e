// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/instructions/instruction_reader.hpp"
#include "inplace-vmm/site_list.hpp"
#include "previrt/site_kinds.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace previrt {

constexpr std::size_t longest_instruction = 15;

// A sensitive instruction. Its kind comes from a record or from its encoding.
struct Instruction {
    SiteKind kind;
    std::uint64_t address; // of its first byte, prefixes included
    std::uint64_t next;    // the address of the next instruction
    bool repeats;
    bool rex; // has that prefix
    bool has_operand;
    bool operand_is_memory;
    unsigned width;          // of the operand or of the transfer, in bytes
    unsigned reg;            // ModRM.reg
    unsigned rm;             // ModRM.rm, if it is a register
    MemoryOperand memory;    // also of ins and outs, although operand_is_memory is false
    std::uint64_t effective; // of a memory operand, with the guest's registers as they are now
    std::uint8_t opcode;     // its last byte
    std::uint16_t immediate; // its last one or two bytes, even if they are no immediate
    std::uint8_t annotation; // page-table level or device, from the record
};

// `bytes` are those of one site, with its padding in front. nullopt: they are no instruction of that kind.
std::optional<Instruction> decode_instruction(SiteKind kind, std::uint64_t address,
                                              std::span<const std::uint8_t> bytes);

// Decodes a site that runs at `address`; `next` is behind the site. Valid until the next call. nullptr: the
// bytes are no instruction of that kind.
const Instruction* decode_site(const KnownSite& site, std::uint64_t address);

} // namespace previrt
