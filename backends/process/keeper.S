// SPDX-License-Identifier: BSD-2-Clause
// The first process, started by exec. The guest's host processes are its children, and it ends with the first of them:
// as the init of their PID namespace, where they have one, it takes the others along. It has the image to itself and no
// memory of the guest's, so that a guest reaches it by what its children end with, and by nothing else.
#include "backends/process/frame_offsets.h"

	.section .rodata
name:	.asciz "previrt-process"

	.text
	.globl keeper_entry
keeper_entry:
	movl $CALL_PRCTL, %eax
	movl $15, %edi			// PR_SET_NAME
	movl $name, %esi
	syscall
	movl $CALL_PRCTL, %eax
	movl $4, %edi			// PR_SET_DUMPABLE: no core, no debugger of the same user's
	xorl %esi, %esi
	syscall
	movl $CALL_GETPID, %eax
	syscall
	movl %eax, %ebx
	movl $CALL_CLONE, %eax
	movl $17, %edi			// SIGCHLD
	xorl %esi, %esi
	xorl %edx, %edx
	xorl %r10d, %r10d
	xorl %r8d, %r8d
	syscall
	testl %eax, %eax
	jz first_host_entry
	pushq $0
	movl $CALL_WAIT4, %eax
	movl $-1, %edi			// any
	movq %rsp, %rsi
	xorl %edx, %edx
	xorl %r10d, %r10d
	syscall
	movl $127, %edi			// there is none
	testl %eax, %eax
	js 1f
	movzbl 1(%rsp), %edi		// its exit status
	movl (%rsp), %eax
	andl $0x7f, %eax
	jz 1f
	leal 128(%rax), %edi		// the signal that ended it
1:	movl $CALL_EXIT_GROUP, %eax
	syscall
	ud2

	.section .note.GNU-stack, "", @progbits
