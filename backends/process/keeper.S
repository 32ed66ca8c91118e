// SPDX-License-Identifier: BSD-2-Clause
// The first process, started by exec. The guest's host processes are its children, and it ends with the first
// of them that ends: as the init of their PID namespace, if they have one, it takes the others along. It has
// its image to itself and none of the guest's memory, so that a guest reaches it only by the exit status of
// its children.
//
// A process that a hostile guest has made need not ask to end with its parent, and may block every signal
// that can be blocked. So the keeper alone has one end of a pipe. When the keeper ends, for whatever reason,
// Linux sends SIGKILL to all of the group by the other end (monitor/process/child.cpp). The keeper ends with
// its monitor by PR_SET_PDEATHSIG.
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
	movl $4, %edi			// PR_SET_DUMPABLE: no core, no debugger of the same user
	xorl %esi, %esi
	syscall
	movl $CALL_CLONE, %eax
	movl $17, %edi			// SIGCHLD
	xorl %esi, %esi
	xorl %edx, %edx
	xorl %r10d, %r10d
	xorl %r8d, %r8d
	syscall
	testl %eax, %eax
	jz 2f
	movl $127, %ebx			// there is no child
	js 4f
	pushq $0
1:	movl $CALL_WAIT4, %eax
	movl $-1, %edi			// any
	movq %rsp, %rsi
	xorl %edx, %edx
	xorl %r10d, %r10d
	syscall
	testl %eax, %eax
	jle 1b
	movzbl 1(%rsp), %ebx		// the child's exit status
	movl (%rsp), %eax
	andl $0x7f, %eax
	jz 4f
	leal 128(%rax), %ebx		// the signal that ended the child
	jmp 4f
2:	movl $CALL_CLOSE, %eax
	movl $KEEPERS_END, %edi
	syscall
	jmp first_host_entry
4:	movl $CALL_EXIT_GROUP, %eax
	movl %ebx, %edi
	syscall
	ud2

	.section .note.GNU-stack, "", @progbits
