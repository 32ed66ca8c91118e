// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt::backend {

// The tables that the processor walks. They are frames of a pool, by number. The front-end fills them after
// the guest's own.
using TableNumber = std::uint32_t;

// A guest's frame number as a page-table entry holds it, and back. Past the end of RAM: not the guest's.
std::uint64_t machine_frame(std::uint64_t guest_frame);
std::uint64_t guest_frame_of(std::uint64_t machine_frame);

std::uint32_t table_count();
std::uint64_t table_machine_frame(TableNumber table);
// The VMM's copy, always up to date. The hypervisor takes it when the table is published; from then on
// write_entry() keeps both.
std::uint64_t* table_entries(TableNumber table);
void publish_table(TableNumber table);
void retire_table(TableNumber table); // no entry and no root names it any more
void write_entry(TableNumber table, unsigned index, std::uint64_t entry); // queued for the hypervisor
// Whether the processor sets accessed bits in these tables. It then caches no entry of level 1 without one,
// and the front-end writes entries without.
bool sets_accessed_bits();
void flush_entries();         // sends what is queued; a processor may still cache the entries before it
void forget_retired_tables(); // no entry, root or cache leads to them any more: they may be used anew
// The table in this machine frame; ~0: none of the pool.
TableNumber table_at(std::uint64_t machine_frame);

// A root is a pair: one for the guest's kernel and one for its user mode. Where the back-end does not
// separate them there is no second one (~0), and user mode reaches the kernel's memory.
bool separates_user_mode();
void pin_root(TableNumber kernel, TableNumber user);
void unpin_root(TableNumber kernel, TableNumber user);
void load_root(TableNumber kernel, TableNumber user);
void invalidate_page(std::uint64_t address);
void invalidate_all();
void queue_invalidate_all(); // behind the queued entries

// Where tables map the VMM, if any do: in the last 2 MiB, which sign-extended 32-bit addresses reach. It is
// in the last entry of a kernel's root, and of the tables below that at levels 3 and 2.
constexpr std::uint64_t vmm_address = 0xffff'ffff'ffe0'0000;
// That entry of a table of this level. 0: no table maps the VMM.
std::uint64_t vmm_entry(unsigned level, bool user);
// The entry of a kernel's root for the back-end's own map of memory, and its slot. 0: there is none.
std::uint64_t map_entry();
unsigned map_slot();
bool slot_is_reserved(unsigned root_index); // the hypervisor's own
// The guest's kernel reaches the VMM's memory from this address of the slot on: an access to a mapping of its
// own there would not fault. 0: nowhere.
std::uint64_t vmm_memory_in_slot(unsigned root_index);

} // namespace previrt::backend
