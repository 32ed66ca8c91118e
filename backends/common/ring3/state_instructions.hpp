// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

// XSAVE and kin, which the guest executes outside its own text: with a mask that the VMM has cut down.
namespace previrt {

extern "C" bool state_instruction_has_begun;
void recall_state_instruction();

// To be called as soon as the guest's registers are in the Vcpu. If it was about to execute such an
// instruction, it has not begun; if it had executed it, it has gone on.
inline void leave_state_instruction() {
    if (state_instruction_has_begun) {
        recall_state_instruction();
    }
}

// The same where the Vcpu has all registers but RIP: a site that jumps is none of these instructions.
inline void forget_state_instruction() {
    state_instruction_has_begun = false;
}

// The last before the guest goes on: leads to the instruction if it is still the next.
void enter_state_instruction();

} // namespace previrt
