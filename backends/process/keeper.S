// SPDX-License-Identifier: BSD-2-Clause
// The first process, started by exec. The guest's host processes are its children, and it ends with the first of them:
// as the init of their PID namespace, where they have one, it takes the others along. It has the image to itself and no
// memory of the guest's, so that a guest reaches it by what its children end with, and by nothing else.
//
// Its monitor has blocked the two signals that it waits for. A process that a hostile guest has made need not have asked
// to end with its parent; all of them are in one group.
#include "backends/process/frame_offsets.h"

#define DEATH_SIGNAL 15			// SIGTERM, of the monitor; as process_child.cpp has it
#define CHILD_SIGNAL 17

	.section .rodata
name:	.asciz "previrt-process"
	.balign 8
awaited: .quad 1 << (DEATH_SIGNAL - 1) | 1 << (CHILD_SIGNAL - 1)

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
	movl $127, %ebx			// there is none
	js 4f
	pushq $0
1:	movl $CALL_RT_SIGTIMEDWAIT, %eax
	movl $awaited, %edi
	xorl %esi, %esi
	xorl %edx, %edx
	movl $8, %r10d
	syscall
	cmpl $DEATH_SIGNAL, %eax
	je 3f
	movl $CALL_WAIT4, %eax
	movl $-1, %edi			// any
	movq %rsp, %rsi
	movl $1, %edx			// WNOHANG
	xorl %r10d, %r10d
	syscall
	testl %eax, %eax
	jle 1b
	movzbl 1(%rsp), %ebx		// its exit status
	movl (%rsp), %eax
	andl $0x7f, %eax
	jz 4f
	leal 128(%rax), %ebx		// the signal that ended it
	jmp 4f
3:	movl $CALL_KILL, %eax
	xorl %edi, %edi			// all of the group
	movl $9, %esi
	syscall
4:	movl $CALL_EXIT_GROUP, %eax
	movl %ebx, %edi
	syscall
	ud2

	.section .note.GNU-stack, "", @progbits
