// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/paging/shadow/entries.hpp"
#include "frontends/x86/paging/shadow/pool.hpp"

// Root tables: for each of the guest's a pair, what its kernel sees and what its user mode sees.
namespace previrt::shadow {

// The hypervisor's slots, and the one that holds the VMM's map.
bool is_the_vmms(unsigned root_index);

// Stops the guest where this entry of a root maps memory of its own over the VMM's.
void refuse_mapping_over_vmm(unsigned root_index, std::uint64_t guest_entry);

TableNumber find_or_make_root(std::uint64_t guest_frame);
void change_root_slot(TableNumber root, unsigned index, std::uint64_t guest_entry,
                      Purpose purpose = Purpose::in_advance);
// From now on the kernel has tables of its own below this slot.
void split_slot(TableNumber root, unsigned index);
// Every entry of a table, of a root or not, as the guest has it now.
void follow_table(TableNumber table);

void drop_root(TableNumber root);
// That of this frame, if it is not in use: its page was freed, which no annotation says.
void drop_unused_root(std::uint64_t guest_frame);
// What the kernel's half holds is shared by the roots and stays.
void drop_other_roots();

} // namespace previrt::shadow
