// SPDX-License-Identifier: BSD-2-Clause
// For entry.S: the entries of rewritten sites for back-ends that need no privileged instruction there. After
// an entry the includer's `leave` runs.

	.macro save_but_rax
	movq %rcx, VCPU(RCX)
	movq %r11, VCPU(R11)
	save_but_rax_rcx_r11
	.endm

	.macro restore_all
	movq VCPU(RAX), %rax
	movq VCPU(RCX), %rcx
	movq VCPU(R11), %r11
	restore_but_rax_rcx_r11
	.endm

	// User mode's flags: DF, and AC, which would check the VMM's own accesses.
	.macro clear_flags
	pushq $2
	popfq
	.endm

	.text

site_call:
	movq %rax, VCPU(RAX)
	popq VCPU(RIP)
	movq %rsp, VCPU(RSP)
	save_but_rax
	save_flags_on_own_stack
	call site_call_entered
	jmp leave

// By jump, through a trampoline that has saved RAX and loaded its own number. RSP may be anything.
	.globl site_jump, site_jump_masked
site_jump:
	movl %eax, jump_number
site_jump_masked:
	movq jump_rax, %rax
	movq %rax, VCPU(RAX)
	movq %rsp, VCPU(RSP)
	save_but_rax
	save_flags_on_own_stack
	call site_jump_entered
	jmp leave

	.section .rodata
	.balign 8
general_site: .quad site_call

#include "backends/common/ring3/site_pointers.h"

	.section processor, "aw"
	.balign 8
	.globl jump_rax, jump_rcx, jump_number
jump_rax: .quad 0
jump_rcx: .quad 0
jump_number: .long 0
