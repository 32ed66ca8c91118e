// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/paging/shadow/pool.hpp"

// Guest tables that are shadowed are read-only to the guest, so that a store without an annotation is
// noticed. It is then let through: as a processor's TLB may, the shadow follows at the next flush. So are
// pages of which a copy is executed, until such a store.
namespace previrt::shadow {

inline bool is_protected(std::uint64_t frame) {
    return frames[frame].replaced || (frames[frame].tables != no_table && !frames[frame].unsynchronized);
}

// A leaf changes from `before` to `after`, entries of the real table.
void note_leaf(Leaf leaf, std::uint64_t before, std::uint64_t after);

void protect_frame(std::uint64_t number);
// The kernel's own mapping becomes writable at once: it may be a stack next, where no fault can be taken.
void release_frame(std::uint64_t number);

// The guest, or the VMM for it, writes to a protected frame.
void let_write(std::uint64_t number);
// A flush: the shadows of such frames follow, and they are protected again.
void synchronize();

} // namespace previrt::shadow
