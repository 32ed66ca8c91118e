// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Xen pushes the frame of a trap on the kernel's current stack, and sites call the VMM on it. A processor
// that starts has none for some instructions: its RSP is in no page table, and its code uses none. Meanwhile
// RSP leads to a few bytes of the VMM's.
namespace previrt::xen {

// Called before the guest goes on.
void lend_stack();
// Called when it has stopped: RSP is the guest's again.
void take_stack_back();

} // namespace previrt::xen
