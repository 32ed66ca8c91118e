// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/backend/page_tables.hpp"

#include <cstdint>

// Changes of the shadow tables, which the host processes' mappings have to follow.
namespace previrt::process {

// Changes an entry of these tables.
void change_entry_of(backend::TableNumber table, unsigned index, std::uint64_t changed);
// The table is about to be reused.
void note_retired(backend::TableNumber table);
// The current process has unmapped this large page's part of the user's part, and the accessed bits of its
// entries will not tell other processes.
void note_evicted(std::uint64_t address);
// Whether the guest's kernel may write to a frame by the map of all RAM.
void let_write(std::uint64_t frame, bool let);

// Unmaps everything whose entry has changed. With --isolate, the user process does the same before its
// program continues.
void follow_changes();
// The part of the user process alone.
void follow_changes_of_user_process();
void forget_everything();
// follow_changes has nothing to do.
bool changes_are_followed();
// The same on this processor, in the process where it is. It follows other processes' changes when it enters
// them.
bool changes_are_followed_by(unsigned processor);

} // namespace previrt::process
