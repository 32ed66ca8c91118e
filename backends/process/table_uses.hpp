// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/process/address_space_processes.hpp"
#include "frontends/x86/paging/page_entry.hpp"

#include <cstdint>

// Which addresses of which address spaces use the shadow tables.
namespace previrt::process {

constexpr backend::TableNumber no_table = ~backend::TableNumber{0};

// The table that an entry above level 1 names.
inline backend::TableNumber table_below(std::uint64_t entry) {
    return (entry & page_present) != 0 ? backend::table_at(machine_frame_in(entry)) : no_table;
}

// The last use of a level-1 table. Of a table above, only whether a walk went through it.
struct Use {
    std::uint64_t address = ~std::uint64_t{0}; // of its first entry; ~0: the table was never used
    AddressSpace* space = nullptr;
    std::uint64_t space_number = 0;
    bool is_shared = false;      // more than one address or address space
    bool is_on_a_path = false;   // to a level-1 table
    std::uint32_t forbidden = 0; // protection that the entries above take away

    [[nodiscard]] bool is_known() const { return address != ~std::uint64_t{0}; }
    // Processes that had an earlier one have emptied the user's part, or will.
    [[nodiscard]] bool is_of_present_space() const { return space_number == space->number; }
};

// The process that may map a page of the guest: its host process, or with --isolate the user process beside
// it.
enum Side : std::uint8_t { kernels_side = 1, users_side = 2 };

void start_table_uses();
const Use& use_of(backend::TableNumber table);
void note_use(backend::TableNumber table, std::uint64_t address, std::uint32_t forbidden);
void note_path(backend::TableNumber table);
void forget_use(backend::TableNumber table);

// The sides that may map an entry.
std::uint8_t sides_of(backend::TableNumber table, unsigned index);
// With --isolate alone; without it an entry's accessed bit tells.
bool is_mapped_by(Side side, backend::TableNumber table, unsigned index);
void set_mapped_by(Side side, backend::TableNumber table, unsigned index);
void clear_mapped_by(Side side, backend::TableNumber table, unsigned index);

} // namespace previrt::process
