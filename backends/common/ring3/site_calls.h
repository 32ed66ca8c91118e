// SPDX-License-Identifier: BSD-2-Clause
// For entry.S: the entries of the most frequent sites. The code acts for the guest, on the guest's stack, and
// works at any address. If it cannot do all of the instruction, it takes the general path. The includer
// defines two bytes: INTERRUPTS_DISABLED, and PENDING, which is not 0 while an event waits for interrupts to
// be enabled.

// sti: no flag may change, and jrcxz is the branch that reads none.
	.globl sti_call
sti_call:
	pushq %rcx
	movb $0, INTERRUPTS_DISABLED
sti_enabled: // an event between here and sti_end has to wait for the instruction behind sti
	movzbl PENDING, %ecx
	jrcxz 1f
	jmp 2f
1:	popq %rcx
	ret
sti_end:
2:	// Taken back: the whole instruction is done again by the general path, which handles its shadow.
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

// popf: does changes of arithmetic flags and IF alone.
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
2:	// IF may have been set before: the general path reads it from the cell, and popf sets it anyway.
	popq %rax
	jmp general_site_call
3:	movq 8(%rsp), %rax // the return address goes below the flags
	xchgq %rax, 16(%rsp)
	movq %rax, 8(%rsp)
	popq %rax
	popfq
	ret
