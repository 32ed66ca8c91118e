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

// User mode is where rewritten sites of the kernel's lead, at the first instruction there: by a single step,
// or since it may not execute what is the VMM's. The site's instruction is done as user mode's. If no site
// that user mode may execute led there, there is nothing at that address.
bool is_site_code(std::uint64_t address);
void execute_site_for_user(bool is_step);

// An event came while the guest was in code of ours that acts for it. A trampoline is undone, and sti_call
// done.
void leave_site_code();

} // namespace previrt
