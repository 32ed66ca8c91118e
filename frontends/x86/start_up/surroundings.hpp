// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/start_up/starting_processor.hpp"
#include "inplace-vmm/backend/processor_state.hpp"

#include <cstdint>
#include <span>

namespace previrt::start_up {

enum class Access : std::uint8_t { fetch, read, write };

enum class Exchange : std::uint8_t {
    done,
    differs, // memory does not hold what was expected
    refused,
};

// What a starting processor reaches. Every pointer is set. Memory has linear addresses below 4 GiB: while
// CR0.PG is set these functions walk the page tables of CR3, each time, and honour CR0.WP and EFER.NXE. A
// fetch has 1 to 15 bytes of one page. Other accesses have 1, 2 or 4 bytes, and 8 for a descriptor; they end
// below 4 GiB, but may cross a page's end. For other processors an aligned access is a single one, whose
// halves are not seen apart.
struct Surroundings {
    void* context;
    std::uint64_t offered_cr4;  // bits that may be set; others raise #GP
    std::uint64_t offered_efer; // the same

    // False: the processor would get a page fault, or there is no memory. `access` is fetch or read.
    bool (*read)(void* context, const StartingProcessor& processor, std::uint64_t linear,
                 std::span<std::uint8_t> to, Access access);
    bool (*write)(void* context, const StartingProcessor& processor, std::uint64_t linear,
                  std::span<const std::uint8_t> from);
    // Of an instruction with a lock prefix: atomic for all processors. `width` is 1, 2 or 4.
    Exchange (*compare_exchange)(void* context, const StartingProcessor& processor, std::uint64_t linear,
                                 unsigned width, std::uint32_t expected, std::uint32_t desired);

    backend::CpuidLeaf (*cpuid)(void* context, const StartingProcessor& processor, std::uint32_t leaf,
                                std::uint32_t subleaf);
    // All but EFER and the bases of FS and GS, which are the interpreter's. False: #GP. rdtsc reads MSR 0x10.
    bool (*read_msr)(void* context, std::uint32_t number, std::uint64_t& value);
    bool (*write_msr)(void* context, std::uint32_t number, std::uint64_t value);
    // False: the access is not modelled. `width` is 1, 2 or 4.
    bool (*read_port)(void* context, std::uint16_t port, unsigned width, std::uint32_t& value);
    bool (*write_port)(void* context, std::uint16_t port, unsigned width, std::uint32_t value);
};

} // namespace previrt::start_up
