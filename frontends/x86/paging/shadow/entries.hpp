// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/paging/shadow/pool.hpp"

// Keeps an entry of a shadow table in step with the guest's entry.
namespace previrt::shadow {

std::uint64_t leaf_entry(View view, std::uint64_t guest_entry, std::uint64_t guest_frame);

// Why an entry is followed.
enum class Purpose : std::uint8_t {
    in_advance, // nothing waits for it: if few tables are free it stays absent, until a hidden fault
    access,     // an access waits for it
};

// Entry `index` of `table` follows `guest_entry`. Makes and drops the tables below it, which have that view.
void change_entry(TableNumber table, unsigned index, std::uint64_t guest_entry, View view_below,
                  Purpose purpose = Purpose::in_advance);

// The same for a leaf of a table that stands for a guest table.
void change_leaf(Leaf leaf, std::uint64_t guest_entry);

// Writes a leaf anew: its frame may have been protected or released.
void refresh_leaf(Leaf leaf);

// An entry no longer names this table.
void unlink_entry(std::uint64_t entry);

} // namespace previrt::shadow
