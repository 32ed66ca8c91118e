// SPDX-License-Identifier: BSD-2-Clause
// For entry.S: the instructions that state_instructions.cpp has the guest execute, on (%rcx), and the code
// that restores the guest's registers afterwards. It acts for the guest.
#include "backends/common/ring3/state_instruction_bytes.h"

	.macro state_instruction instruction
	.balign STATE_INSTRUCTION_BYTES
	\instruction (%rcx)
	jmp state_instruction_done
	.endm

	.balign STATE_INSTRUCTION_BYTES
	.globl state_instructions, state_instruction_done, state_instructions_end
state_instructions: // in the order of state_instructions.cpp
	state_instruction xsave
	state_instruction xsave64
	state_instruction xsaveopt
	state_instruction xsaveopt64
	state_instruction xrstor
	state_instruction xrstor64
	.balign STATE_INSTRUCTION_BYTES
state_instruction_done:
	movq state_rax, %rax
	movq state_rcx, %rcx
	movq state_rdx, %rdx
	jmp *state_next
state_instructions_end:
