// SPDX-License-Identifier: BSD-2-Clause
// For entry.S: the guest's registers and the Vcpu.
#include "vcpu_offsets.h"

#define VCPU(field) vcpu + VCPU_##field

	.macro save_but_rax_rcx_r11
	movq %rdx, VCPU(RDX)
	movq %rbx, VCPU(RBX)
	movq %rbp, VCPU(RBP)
	movq %rsi, VCPU(RSI)
	movq %rdi, VCPU(RDI)
	movq %r8, VCPU(R8)
	movq %r9, VCPU(R9)
	movq %r10, VCPU(R10)
	movq %r12, VCPU(R12)
	movq %r13, VCPU(R13)
	movq %r14, VCPU(R14)
	movq %r15, VCPU(R15)
	.endm

	.macro restore_but_rax_rcx_r11
	movq VCPU(RDX), %rdx
	movq VCPU(RBX), %rbx
	movq VCPU(RBP), %rbp
	movq VCPU(RSI), %rsi
	movq VCPU(RDI), %rdi
	movq VCPU(R8), %r8
	movq VCPU(R9), %r9
	movq VCPU(R10), %r10
	movq VCPU(R12), %r12
	movq VCPU(R13), %r13
	movq VCPU(R14), %r14
	movq VCPU(R15), %r15
	.endm

	// As `syscall` leaves them. There may be no guest stack.
	.macro flags_to_r11
	movq %rsp, VCPU(RSP)
	movq $vmm_stack_top, %rsp
	pushfq
	popq %r11
	movq VCPU(RSP), %rsp
	.endm

	// The real RFLAGS still holds the guest's flags.
	.macro save_flags_on_own_stack
	movq $vmm_stack_top, %rsp
	pushfq
	popq VCPU(RFLAGS)
	cld
	.endm

	// Of an exception, behind its error code.
	.macro take_frame
	popq VCPU(RIP)
	popq trap_cs
	popq VCPU(RFLAGS)
	popq VCPU(RSP)
	popq trap_ss
	.endm
