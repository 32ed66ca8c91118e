// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/site_list.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace previrt {

// Code that the guest copies (alternatives, kprobes' template) must mean the same at its new address.
enum class Placement : std::uint8_t { fixed, copied };

constexpr std::size_t call_bytes = 5;          // call rel32
constexpr std::size_t absolute_call_bytes = 7; // call *abs32

// Writes the replacement into `code`, the site's bytes in guest memory. False: no replacement fits, and the
// unchanged instruction would silently give a wrong result.
bool rewrite_site(const KnownSite& site, std::span<std::uint8_t> code, Placement placement);
// Whether the replacement is still there: the guest may have put other code at the site's address.
bool is_rewritten(const KnownSite& site, std::span<const std::uint8_t> code);

// Replaces a site that has no room for a call and no trampoline: hlt, which faults at every level but 0.
constexpr std::uint8_t trap_instruction = 0xf4;

// The trap mark, for copied code, whose address is not that of its record: ud1 with a memory operand that
// repeats the record. Linux decodes the code that it copies, so the mark must be a valid instruction.
// Of a site without operands:
//     3e, 0f b9, ModRM 01 width 000, the kind
// Of a site with register operands and a kind below 0x80; the base register must not be RSP:
//     REX with the kind's upper 4 bits, 0f b9, ModRM 01 kind's lower 3 bits, width or 101 for 100; the
//     operand
constexpr std::size_t trap_mark_bytes = 5;
struct MarkedSite {
    SiteKind kind;
    unsigned width;
    bool has_registers;
    std::uint8_t operand; // as in a record
};
// nullopt: the bytes are no mark.
std::optional<MarkedSite> read_trap_mark(std::span<const std::uint8_t, trap_mark_bytes> code);

// A jump from a site leads to a trampoline of its own, which identifies the site.
constexpr std::size_t trampoline_bytes = 64;
struct Trampolines {
    std::uint8_t* code;    // for writing
    std::uint64_t address; // for execution
    std::size_t count;
    std::uint64_t* sites; // the site of each
};
void start_trampolines(Trampolines room);
// Frees the trampolines of sites that begin in [begin, end).
void free_trampolines(std::uint64_t begin, std::uint64_t end);
// The site of the trampoline at this address, or 0.
std::uint64_t site_of_trampoline(std::uint64_t address);

} // namespace previrt
