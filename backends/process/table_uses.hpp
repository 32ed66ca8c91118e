// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/process/address_space_processes.hpp"

#include <cstdint>

// Which addresses of which processes use the level-1 shadow tables.
namespace previrt::process {

// The last use of a level-1 table.
struct Use {
    std::uint64_t address = ~std::uint64_t{0}; // of its first entry; else it was never used
    Host* host = nullptr;
    bool is_shared = false; // more than one address or process

    [[nodiscard]] bool is_known() const { return address != ~std::uint64_t{0}; }
};

// The process that may map a page of the guest: its host process, or with --isolate the user process beside
// it.
enum Side : std::uint8_t { kernels_side = 1, users_side = 2 };

void start_table_uses();
const Use& use_of(backend::TableNumber table);
void note_use(backend::TableNumber table, std::uint64_t address);
void forget_use(backend::TableNumber table);

// The sides that may map an entry.
std::uint8_t sides_of(backend::TableNumber table, unsigned index);
// With --isolate alone; without it an entry's accessed bit tells.
bool is_mapped_by(Side side, backend::TableNumber table, unsigned index);
void set_mapped_by(Side side, backend::TableNumber table, unsigned index);
void clear_mapped_by(Side side, backend::TableNumber table, unsigned index);

} // namespace previrt::process
