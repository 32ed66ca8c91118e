// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/paging/shadow/pool.hpp"

// What stands in a shadow table for an entry of the guest's.
namespace previrt::shadow {

std::uint64_t leaf_entry(View view, std::uint64_t guest_entry, std::uint64_t guest_frame);

// What an entry is followed for.
enum class Purpose : std::uint8_t {
    in_advance, // nothing waits for it: with too few tables free it stays absent, until a hidden fault
    access,     // it is on the way to an access, which cannot go on without it
};

// Entry `index` of `table` follows `guest_entry`; tables below it, of that view, are made and dropped.
void change_entry(TableNumber table, unsigned index, std::uint64_t guest_entry, View view_below,
                  Purpose purpose = Purpose::in_advance);

// A leaf as it should be now: its frame may have been protected, or released.
void refresh_leaf(Leaf leaf);

// An entry that named a table is gone.
void unlink_entry(std::uint64_t entry);

} // namespace previrt::shadow
