// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/paging/shadow/entries.hpp"
#include "frontends/x86/paging/shadow/pool.hpp"

// Root tables. Each root of the guest has a pair: the kernel's view and user mode's view.
namespace previrt::shadow {

// The hypervisor's slots, and the slot of the VMM's map.
bool is_the_vmms(unsigned root_index);

// Stops the guest if this root entry maps guest memory over the VMM's.
void refuse_mapping_over_vmm(unsigned root_index, std::uint64_t guest_entry);

TableNumber find_or_make_root(std::uint64_t guest_frame);
void change_root_slot(TableNumber root, unsigned index, std::uint64_t guest_entry,
                      Purpose purpose = Purpose::in_advance);
// Gives the kernel tables of its own below this slot.
void split_slot(TableNumber root, unsigned index);
// Updates every entry of a table, root or not, from the guest's table.
void follow_table(TableNumber table);

void drop_root(TableNumber root);
// Drops the root of this frame if it is not in use: the guest has freed its page, which no annotation tells.
void drop_unused_root(std::uint64_t guest_frame);
// The roots share the tables of the kernel's half, which stay.
void drop_other_roots();

} // namespace previrt::shadow
