// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

// XSAVE and kin, which the guest executes outside its own text, with a mask that the VMM has reduced.
namespace previrt {

extern "C" bool state_instruction_has_begun;
void recall_state_instruction();

// Called as soon as the guest's registers are in the Vcpu. If the guest was about to execute such an
// instruction, this undoes the redirection; if it had executed one, this completes the site.
inline void leave_state_instruction() {
    if (state_instruction_has_begun) {
        recall_state_instruction();
    }
}

// The same if the Vcpu has all registers but RIP: a site that jumps is none of these instructions.
inline void forget_state_instruction() {
    state_instruction_has_begun = false;
}

// Called last before the guest continues: redirects the guest to the instruction if that is still the next
// one.
void enter_state_instruction();

} // namespace previrt
