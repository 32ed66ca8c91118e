// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

// The ways into the VMM that lead through rewritten sites: the same on every back-end whose entry.S has the
// entries named here.
namespace previrt {

void start_site_trampolines();
// The site whose trampoline was the last to jump here.
std::uint64_t jumping_site();

// A single step that began at a rewritten site ends in the first instruction of the VMM. The site is done in
// the general way, and the step is reported behind it.
void finish_step();

// An event came while the guest was in code of ours that acts for it. A trampoline is undone, and sti_call
// done.
void leave_site_code();

} // namespace previrt
