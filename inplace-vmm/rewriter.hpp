// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/site_list.hpp"

#include <cstdint>
#include <span>

namespace previrt {

// What a back-end does with the sites of a kind.
struct Treatment {
    Way way = Way::native;
    std::uint64_t target = 0; // of a call or a jump; in line, of a layout constant: the place to have it at
};

// Each back-end has its table.
Treatment treat_site(const KnownSite& site);

// Code that the guest copies (alternatives, kprobes' template) must mean the same elsewhere.
enum class Placement : std::uint8_t { fixed, copied };

constexpr std::size_t call_bytes = 5;          // call rel32
constexpr std::size_t absolute_call_bytes = 7; // call *abs32

// Puts the replacement into `code`, the site's bytes in guest memory.
void rewrite_site(const KnownSite& site, std::span<std::uint8_t> code, Placement placement);

// In copied code without room for a call: ud1 with an operand that says so, and the kind as its displacement.
// Linux decodes what it copies, and must find an instruction.
constexpr std::uint8_t trap_mark[] = {0x3e, 0x0f, 0xb9, 0x78};
constexpr std::size_t trap_mark_bytes = sizeof(trap_mark) + 1;

// Jumps lead through trampolines, which know their site.
constexpr std::size_t trampoline_bytes = 64;
struct Trampolines {
    std::uint8_t* code;    // where to write them
    std::uint64_t address; // where they run
    std::size_t count;
    std::uint64_t* sites; // the site of each
};
void start_trampolines(Trampolines room);
// The back-end's: the code of trampoline `number`, which will run at `address`.
void write_trampoline(const KnownSite& site, std::size_t number, std::uint64_t address,
                      std::span<std::uint8_t> code, std::uint64_t target);
// The site whose trampoline this address lies in, or 0.
std::uint64_t site_of_trampoline(std::uint64_t address);

} // namespace previrt
