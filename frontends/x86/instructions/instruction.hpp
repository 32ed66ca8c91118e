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

// A sensitive instruction, its kind known from a record or by its encoding.
struct Instruction {
    SiteKind kind;
    std::uint64_t address; // of its first byte, prefixes included
    std::uint64_t next;    // where execution goes on
    bool repeats;
    bool rex; // has that prefix
    bool has_operand;
    bool operand_is_memory;
    unsigned width;          // of its operand or of the transfer, in bytes
    unsigned reg;            // ModRM.reg
    unsigned rm;             // ModRM.rm, where it is a register
    MemoryOperand memory;    // of ins and outs too, where operand_is_memory is false
    std::uint64_t effective; // address of a memory operand, with the guest's registers as they are
    std::uint8_t opcode;     // its last byte
    std::uint16_t immediate; // its last one or two bytes, whatever they are
    std::uint8_t annotation; // page-table level or device, from the record
};

// `bytes` are those of one site, padding in front included. Nothing: they are no instruction of that kind.
std::optional<Instruction> decode_instruction(SiteKind kind, std::uint64_t address,
                                              std::span<const std::uint8_t> bytes);

// That of a site that runs at `address`, which goes on behind the site. The same until the next call; nullptr
// as above.
const Instruction* decode_site(const KnownSite& site, std::uint64_t address);

} // namespace previrt
