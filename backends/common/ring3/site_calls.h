// SPDX-License-Identifier: BSD-2-Clause
// For entry.S: what the most frequent sites call. It acts for the guest, on the guest's stack, works at any address,
// and goes the general way where it cannot do all of it. The includer names two bytes: INTERRUPTS_DISABLED, and
// PENDING, which is not 0 while something waits for them to be enabled.

// sti: no flag may change, and jrcxz is the branch that reads none.
	.globl sti_call
sti_call:
	pushq %rcx
	movb $0, INTERRUPTS_DISABLED
sti_enabled: // what comes from here to sti_end has to wait for the instruction behind sti
	movzbl PENDING, %ecx
	jrcxz 1f
	jmp 2f
1:	popq %rcx
	ret
sti_end:
2:	// Taken back: the whole instruction is done again, with care for its shadow.
	movb $1, INTERRUPTS_DISABLED
	popq %rcx
	jmp general_site_call

	.globl pushf_call
pushf_call:
	pushq (%rsp)
	pushfq
	pushq %rax
	movzbl INTERRUPTS_DISABLED, %eax
	xorl $1, %eax
	shll $9, %eax
	orq VCPU(SYSTEM_FLAGS), %rax
	andq $~0x57200, 8(%rsp)
	orq 8(%rsp), %rax
	movq %rax, 24(%rsp)
	popq %rax
	popfq
	ret

// popf: what changes only arithmetic flags and IF is done here.
	.globl popf_call
popf_call:
	pushq %rax
	movq 16(%rsp), %rax
	testq $0x47100, %rax
	jnz 2f
	cmpq $0, VCPU(SYSTEM_FLAGS)
	jne 2f
	btl $9, %eax
	jc 1f
	movb $1, INTERRUPTS_DISABLED
	jmp 3f
1:	movb $0, INTERRUPTS_DISABLED
	cmpb $0, PENDING
	je 3f
	movb $1, INTERRUPTS_DISABLED
2:	// IF was maybe set before: the general way reads it from the cell, and popf sets it anyway.
	popq %rax
	jmp general_site_call
3:	movq 8(%rsp), %rax // the return address goes below the flags
	xchgq %rax, 16(%rsp)
	movq %rax, 8(%rsp)
	popq %rax
	popfq
	ret
