// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/site_list.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace previrt {

// Code that the guest copies (alternatives, kprobes' template) must mean the same elsewhere.
enum class Placement : std::uint8_t { fixed, copied };

constexpr std::size_t call_bytes = 5;          // call rel32
constexpr std::size_t absolute_call_bytes = 7; // call *abs32

// Puts the replacement into `code`, the site's bytes in guest memory. False: there is none that fits, and the
// instruction itself would do something else than it should and not fault.
bool rewrite_site(const KnownSite& site, std::span<std::uint8_t> code, Placement placement);
// Whether that stands there still: the guest may put other code where a site was.
bool is_rewritten(const KnownSite& site, std::span<const std::uint8_t> code);

// In place of a site that has room or a trampoline for nothing else: hlt, which faults at every level but 0.
constexpr std::uint8_t trap_instruction = 0xf4;

// In copied code, whose address is not that of its record: ud1 with a memory operand, which says what the
// record says. Linux decodes what it copies, and must find an instruction. A site without operands:
//     3e, 0f b9, ModRM 01 width 000, the kind
// One whose operands are registers, of a kind below 0x80; its base register has to be other than RSP:
//     REX with the kind's upper 4 bits, 0f b9, ModRM 01 kind's lower 3 bits, width or 101 for 100; the
//     operand
constexpr std::size_t trap_mark_bytes = 5;
struct MarkedSite {
    SiteKind kind;
    unsigned width;
    bool has_registers;
    std::uint8_t operand; // as in a record
};
// Of trap_mark_bytes. nullopt: they are no mark.
std::optional<MarkedSite> read_trap_mark(std::span<const std::uint8_t, trap_mark_bytes> code);

// Jumps lead through trampolines, which know their site.
constexpr std::size_t trampoline_bytes = 64;
struct Trampolines {
    std::uint8_t* code;    // where to write them
    std::uint64_t address; // where they run
    std::size_t count;
    std::uint64_t* sites; // the site of each
};
void start_trampolines(Trampolines room);
// Trampolines of sites that begin in [begin, end) are free for others.
void free_trampolines(std::uint64_t begin, std::uint64_t end);
// The site whose trampoline this address lies in, or 0.
std::uint64_t site_of_trampoline(std::uint64_t address);

} // namespace previrt
