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

// mov from ES, DS, FS or GS to a register, by segment and register: the real register, or else what the guest has
// loaded into it for its kernel alone. No flag may change.
#define SEGMENT_READ_BYTES 32
#define SEGMENT_ES 0
#define SEGMENT_DS 3
#define SEGMENT_FS 4
#define SEGMENT_GS 5

	.macro read_segment segment, number, store:vararg
	.balign SEGMENT_READ_BYTES
	pushq %rcx
	movl %\segment, %ecx
	jrcxz 1f
2:	\store
	popq %rcx
	ret
1:	movzwl VCPU(KERNEL_SELECTORS) + 2 * \number, %ecx
	jmp 2b
	.endm

	// RSP has an entry, which nothing calls.
	.macro read_segment_to_all segment, number
	.irp general, ax, cx, dx, bx, sp, bp, si, di, r8w, r9w, r10w, r11w, r12w, r13w, r14w, r15w
	.ifc \general, cx
	read_segment \segment, \number, movw %cx, (%rsp)
	.else
	read_segment \segment, \number, movw %cx, %\general
	.endif
	.endr
	.irp general, rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
	.ifc \general, rcx
	read_segment \segment, \number, movq %rcx, (%rsp)
	.else
	read_segment \segment, \number, movq %rcx, %\general
	.endif
	.endr
	.endm

	.balign SEGMENT_READ_BYTES
segment_reads:
	read_segment_to_all es, SEGMENT_ES
	read_segment_to_all ds, SEGMENT_DS
	read_segment_to_all fs, SEGMENT_FS
	read_segment_to_all gs, SEGMENT_GS
