// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

// The part of the entries that KVM and processes share: while the guest runs, its interrupt flag is a byte
// of the VMM, and the VMM exchanges the GS bases.
namespace previrt {

// Of entry.S: with these the guest goes on.
extern "C" {
struct InterruptFrame {
    std::uint64_t rip;
    std::uint64_t cs;
    std::uint64_t rflags;
    std::uint64_t rsp;
    std::uint64_t ss;
};
extern InterruptFrame exit_frame;
extern std::uint8_t exit_disabled;
extern std::uint8_t exit_needs_iret;
extern std::uint8_t interrupts_disabled; // the guest's flag
}

// Other processors wait between these, if there are any (vmm_lock.hpp). Before and behind, the VMM uses only
// the processor's own memory.
void enter_vmm();
void leave_vmm();

// The guest has stopped, and its registers are in the Vcpu.
void enter();
// enter() is these two, with enter_vmm() between them. Another processor may change stubs of system calls
// once this one has entered the VMM, so the guest's address is found before.
std::uint64_t seen_address();
void take_guest_state(std::uint64_t seen_address);

// Provided by each back-end: the guest goes on after this.
void leave();
// The part of it that is the same: stops a guest that cannot go on, and fills in exit_disabled, and
// exit_frame but for RIP and RSP.
void fill_exit_frame();
// For a single step, other selectors than the present ones, or an address at which a jump would fault. popf
// does not load RF, which only matters to breakpoints: with one, the guest single-steps.
bool needs_iret();

} // namespace previrt
