// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

// The entries into the VMM from rewritten sites, the same on every back-end whose entry.S has the entries
// named here.
namespace previrt {

void start_site_trampolines();
// The site whose trampoline jumped here last.
std::uint64_t jumping_site();

// A single step that began at a rewritten site ends at the first instruction of the VMM. Executes the site by
// the general path, and then reports the step.
void finish_step();

// User mode may execute a rewritten site of the kernel's text, and then stops at the first instruction of the
// site's target: by a single step, or because it may not execute the VMM's memory. These execute the site's
// instruction for user mode. If no such site led there, user mode sees an unmapped address.
bool is_site_code(std::uint64_t address);
void execute_site_for_user(bool is_step);

// An event came in VMM code that acts for the guest: undoes a trampoline, or completes sti_call.
void leave_site_code();

} // namespace previrt
