// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/shadow_pool.hpp"

// What stands in a shadow table for an entry of the guest's.
namespace previrt::shadow {

std::uint64_t leaf_entry(View view, std::uint64_t guest_entry, std::uint64_t guest_frame);

// Entry `index` of `table` follows `guest_entry`; tables below it, of that view, are made and dropped.
void change_entry(TableNumber table, unsigned index, std::uint64_t guest_entry, View view_below);

// A leaf as it should be now: its frame may have been protected, or released.
void refresh_leaf(Leaf leaf);

// An entry that named a table is gone.
void unlink_entry(std::uint64_t entry);

} // namespace previrt::shadow
