// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/paging/shadow/pool.hpp"

// Shadowed guest tables are read-only to the guest, so that a store without annotation faults. The VMM then
// lets the store through; as with a processor's TLB, the shadow follows at the next flush. Pages of which
// user mode executes a copy are read-only too, until such a store.
namespace previrt::shadow {

inline bool is_protected(std::uint64_t frame) {
    return frames[frame].replaced || (frames[frame].tables != no_table && !frames[frame].unsynchronized);
}

void start_protection();

// A leaf of the real table changes from `before` to `after`.
void note_leaf(Leaf leaf, std::uint64_t before, std::uint64_t after);

void protect_frame(std::uint64_t number);
// Makes the kernel's own mapping writable at once: the frame may become a stack, on which no fault can be
// taken.
void release_frame(std::uint64_t number);

// The guest, or the VMM on its behalf, writes to a protected frame.
void let_write(std::uint64_t number);
// The guest has cleared the entry of this leaf, which is in a table of user mode's pages alone. As in a
// processor's TLB, the mapping lasts until the next flush. Linux mostly sets the entry anew, or drops the
// whole table.
void let_leaf_wait(Leaf leaf);
// The guest has set the entry, and the leaf follows at once.
void leaf_follows(Leaf leaf);

// A flush: cleared leaves and the shadows of written frames follow, and the frames are protected again.
void synchronize();

} // namespace previrt::shadow
