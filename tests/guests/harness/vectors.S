/* SPDX-License-Identifier: BSD-2-Clause
 *
 * An entry for each vector, 16 bytes apart. All of them leave a struct frame (exceptions.h) on the stack and call
 * handle_interrupt. The processor aligns RSP to 16 before it pushes a frame, so the call is aligned too.
 */
	.text
	.balign 16
	.globl vector_entries
	.type vector_entries, @function
vector_entries:
	.set vector, 0
	.rept 256
	.balign 16
	/* #DF, #TS, #NP, #SS, #GP, #PF and #AC push an error code. */
	.if (vector != 8) && ((vector < 10) || (vector > 14)) && (vector != 17)
	push $0
	.endif
	push $vector
	jmp common_entry
	.set vector, vector + 1
	.endr

	.globl common_entry
	.type common_entry, @function
common_entry:
	push %rax
	push %rcx
	push %rdx
	push %rbx
	push %rbp
	push %rsi
	push %rdi
	push %r8
	push %r9
	push %r10
	push %r11
	push %r12
	push %r13
	push %r14
	push %r15
	cld
	mov %rsp, %rdi
	call handle_interrupt
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %r11
	pop %r10
	pop %r9
	pop %r8
	pop %rdi
	pop %rsi
	pop %rbp
	pop %rbx
	pop %rdx
	pop %rcx
	pop %rax
	add $16, %rsp
	iretq
	.section .note.GNU-stack, "", @progbits
