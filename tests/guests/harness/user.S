/* SPDX-License-Identifier: BSD-2-Clause */
	.text
	.globl enter_user_mode
	.type enter_user_mode, @function
enter_user_mode:			/* %rdi: struct user_start */
	push %rbx
	push %rbp
	push %r12
	push %r13
	push %r14
	push %r15
	mov %rsp, user_return_rsp
	pushq 32(%rdi)
	pushq 24(%rdi)
	pushq 16(%rdi)
	pushq 8(%rdi)
	pushq 0(%rdi)
	mov 40(%rdi), %rdi
	xor %eax, %eax
	xor %ebx, %ebx
	xor %ecx, %ecx
	xor %edx, %edx
	xor %esi, %esi
	iretq
	.globl user_returned
user_returned:
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	ret
	.size enter_user_mode, . - enter_user_mode
	.section .note.GNU-stack, "", @progbits
