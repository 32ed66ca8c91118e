// SPDX-License-Identifier: BSD-2-Clause
// The part of a user process beside the guest's program: a copy of this at USER_STUB, read-only, and memory
// that the program can write to. So a program can jump anywhere here, with any registers. It can then only
// stop itself with false contents of its own registers, or make a system call for which the VMM is asked, and
// which the VMM has not requested.
//
// All addresses are constants, or relative to the instruction: the copy runs at its own address.
#include "backends/process/frame_offsets.h"
#include "backends/process/contract/user_state_offsets.h"

	.section .user_stub, "ax"
	.globl user_stub
user_stub:

	.macro save_segments // RAX is free
	rdfsbase %rax
	movq %rax, USER_FS_BASE
	rdgsbase %rax
	movq %rax, USER_GS_BASE
	movw %es, USER_ES
	movw %ds, USER_DS
	movw %fs, USER_FS
	movw %gs, USER_GS
	.endm

// A site of the program's that was a `syscall` (user_mode/calls.hpp) enters here, at the start of the stub.
// RCX is the address at which it continues.
	movq %rax, USER_RAX
	movq %rcx, USER_RCX
	movq %rcx, USER_RIP
	movq %rsp, USER_RSP
	movq $USER_ENTRY_STACK_TOP, %rsp
	.globl user_stub_pushes
user_stub_pushes: // the one place on the way in that writes where a register says
	pushfq
	popq %r11
	movq %rdx, USER_RDX
	movq %rbx, USER_RBX
	movq %rbp, USER_RBP
	movq %rsi, USER_RSI
	movq %rdi, USER_RDI
	movq %r8, USER_R8
	movq %r9, USER_R9
	movq %r10, USER_R10
	movq %r11, USER_R11
	movq %r12, USER_R12
	movq %r13, USER_R13
	movq %r14, USER_R14
	movq %r15, USER_R15
	save_segments
	movl $SAVED_COMPONENTS, %eax
	movl $-1, %edx
	xsaveopt64 USER_ENTRY_VECTORS
	movl $USER_STOP_BY_CALL, %edi
	jmp user_stub_stop

// RDI is the number of a signal, RSI and RDX point to its siginfo and frame. More signals may come before the
// signal stack is armed again, and many may do so one behind the other: each as soon as the VMM has the one
// before. Their frames would fill any stack. So the stub changes to the other stack when the VMM has read all
// earlier frames. The frames that the VMM has yet to read stay as they are.
	.globl user_stub_signal
user_stub_signal:
	cmpb $0, USER_FRAMES_ARE_READ
	je 2f
	movb $0, USER_FRAMES_ARE_READ
	movl $USER_EXIT_FRAME, %eax
	cmpq %rax, %rsp
	ja 1f				// it is on the signal stack, which is above
	movl $USER_SIGNAL_STACK_TOP, %eax
1:	movq %rax, %rsp
2:	save_segments
	movq %rdx, %r10
	movq %rsi, %rdx
	movl %edi, %esi
	movl $USER_STOP_BY_SIGNAL, %edi

// RDI is a UserStop. The VMM lets this process continue only here, and so it knows the process's position.
	.globl user_stub_stop
user_stub_stop:
	movl $USER_STOP_CALL, %eax
	syscall
	.globl user_stub_stopped
user_stub_stopped:
	testq %rax, %rax
	jnz user_stub_stop		// a signal has interrupted the call
	.globl user_stub_leave
user_stub_leave:
	xorl %ebx, %ebx
1:	cmpq USER_OPERATION_COUNT, %rbx
	jae 2f
	movl %ebx, %r12d
	shll $6, %r12d
	movq USER_OPERATIONS(%r12), %rax
	movq USER_OPERATIONS + 8(%r12), %rdi
	movq USER_OPERATIONS + 16(%r12), %rsi
	movq USER_OPERATIONS + 24(%r12), %rdx
	movq USER_OPERATIONS + 32(%r12), %r10
	movq USER_OPERATIONS + 40(%r12), %r8
	movq USER_OPERATIONS + 48(%r12), %r9
	cmpb $0, USER_OPERATIONS + USER_OPERATION_HAS_32_BITS(%r12)
	jne 8f
	syscall
	.globl user_stub_operated
user_stub_operated:
9:	cmpq $-4095, %rax
	jae 3f
	incl %ebx
	jmp 1b
2:	cmpb $USER_THEN_GO_ON, USER_THEN
	je 5f
	cmpb $USER_THEN_ANNOUNCE, USER_THEN
	je 4f
	movq %rax, %rsi
	movl $USER_STOP_DONE, %edi
	jmp user_stub_stop
3:	movq %rax, %rsi
	movq %rbx, %rdx
	movl $USER_STOP_FAILED, %edi
	jmp user_stub_stop
8:	// The call has one argument, in EBX; the VMM is shown all six. R8 to R11 are lost.
	movl %ebx, %r13d
	movl %edi, %ebx
	xorl %ecx, %ecx
	xorl %edx, %edx
	xorl %esi, %esi
	xorl %edi, %edi
	xorl %ebp, %ebp
	int $0x80
	.globl user_stub_operated_32
user_stub_operated_32:
	movl %r13d, %ebx
	jmp 9b
	.globl user_stub_announce
user_stub_announce:
4:	movl $1, USER_STARTED
	movl $CALL_FUTEX, %eax
	movl $USER_STARTED, %edi
	movl $1, %esi			// FUTEX_WAKE
	movl $1, %edx
	call user_stub_allowed_call
	movl $USER_STOP_DONE, %edi
	jmp user_stub_stop

	.globl user_stub_operations_done
user_stub_operations_done:
5:	movq $USER_EXIT_FRAME, %rsp
	pushq $2			// with NT set iretq would fault
	popfq
	cmpb $0, USER_ARMS_STACK
	je 6f
	movl $131, %eax			// sigaltstack
	movl $(USER_STUB + user_stub_signal_stack - user_stub), %edi
	xorl %esi, %esi
	call user_stub_allowed_call
6:	cmpb $0, USER_LOADS_SEGMENTS
	je 7f
	movw USER_EXIT_ES, %es
	movw USER_EXIT_DS, %ds
	movw USER_EXIT_FS, %fs
	movw USER_EXIT_GS, %gs
7:	movq USER_EXIT_FS_BASE, %rax
	wrfsbase %rax
	movq USER_EXIT_GS_BASE, %rax
	wrgsbase %rax
	movl $SAVED_COMPONENTS, %eax
	movl $-1, %edx
	xrstor64 USER_EXIT_VECTORS
	movq USER_EXIT, %rax
	movq USER_EXIT + 0x08, %rcx
	movq USER_EXIT + 0x10, %rdx
	movq USER_EXIT + 0x18, %rbx
	movq USER_EXIT + 0x28, %rbp
	movq USER_EXIT + 0x30, %rsi
	movq USER_EXIT + 0x38, %rdi
	movq USER_EXIT + 0x40, %r8
	movq USER_EXIT + 0x48, %r9
	movq USER_EXIT + 0x50, %r10
	movq USER_EXIT + 0x58, %r11
	movq USER_EXIT + 0x60, %r12
	movq USER_EXIT + 0x68, %r13
	movq USER_EXIT + 0x70, %r14
	movq USER_EXIT + 0x78, %r15
	iretq

// The filter permits these: this stack for signals, and waking the VMM when the first process has its filter.
user_stub_allowed_call:
	syscall
	.globl user_stub_allowed
user_stub_allowed:
	ret
	.globl user_stub_left
user_stub_left:

	.balign 8
	.globl user_stub_signal_stack
user_stub_signal_stack: // stack_t: each delivery of a signal takes it away, so it is never half used
	.quad USER_SIGNAL_STACK
	.long 0x80000000, 0		// SS_AUTODISARM
	.quad USER_SIGNAL_STACK_BYTES
	.globl user_stub_end
user_stub_end:

	.globl user_stub_leave_offset
	.set user_stub_leave_offset, user_stub_leave - user_stub

	.section .note.GNU-stack, "", @progbits
