// SPDX-License-Identifier: BSD-2-Clause
// The entries into the VMM and the exits, in any of the guest's host processes. They share all memory used
// here except their signals' stacks and each processor's own pages (processors.hpp). One of a processor's
// processes at a time runs that processor.
//
// Signals come at any time. In .text the VMM is at work, and a signal is only noted (`pending`). The code in
// .guest_text acts for the guest, and a signal there came to the guest.
//
// Linux first runs at physical addresses, and then reaches .guest_text at an alias: the code works at any
// address.
#include "backends/common/ring3/registers.h"
#include "backends/process/frame_offsets.h"
#include "backends/process/contract/user_state_offsets.h"

#define PENDING pending
#define INTERRUPTS_DISABLED interrupts_disabled

// ---- code that acts for the guest

	.section .guest_text, "ax"

// By call: the return address identifies the site. A site whose RSP may be no stack does not come here.
	.globl general_site_call, page_table_call
page_table_call:
quiet_site_call:
general_site_call:
	jmp *general_site

#include "backends/common/ring3/site_calls.h"
#include "backends/common/ring3/state_instructions.h"
#include "backends/common/ring3/site_ways.h"

	.text

// The first host process, which the keeper made with a copy of the image: it replaces the copy by the shared
// image, with the same contents.
	.globl first_host_entry
first_host_entry:
	movl $CALL_MMAP, %eax
	movl $IMAGE_ADDRESS, %edi
	movl $IMAGE_ROOM, %esi
	movl $7, %edx			// read, write, execute
	movl $0x11, %r10d		// shared, fixed
	movl $MEMORY_DESCRIPTOR, %r8d
	xorl %r9d, %r9d
	syscall
	cmpq $IMAGE_ADDRESS, %rax
	jne 1f
	movq $vmm_stack_top, %rsp
	call process_start
1:	ud2

// ---- signals: RDI the number, RSI siginfo, RDX the frame with all registers, on the process's own stack

	.globl signal_entry
signal_entry:
	clear_flags			// the host leaves AC set
	movq %rdi, %r12
	movq %rsi, %r13
	movq %rdx, %rbx
	movq FRAME_RIP(%rbx), %rax
	subq $vmm_text_start, %rax
	cmpq $vmm_text_bytes, %rax
	jb signal_in_vmm
	call keep_vector_registers
	movq %r12, %rdi
	movq %r13, %rsi
	movq %rbx, %rdx
	call take_frame			// before a second signal can overwrite it
	movq $vmm_stack_top, %rsp
	call signal_taken
	jmp leave

// The host starts a handler with cleared vector registers; the guest's are in the frame.
keep_vector_registers:
	movq FRAME_VECTOR_REGISTERS(%rbx), %rcx
	movl $SAVED_COMPONENTS, %eax
	movl $-1, %edx
	xrstor64 (%rcx)
	ret

signal_in_vmm:
	cmpl $TIMER_SIGNAL, %r12d
	je 1f
	cmpl $EVENT_SIGNAL, %r12d
	je 1f
	cmpl $USER_SIGNAL, %r12d
	je 1f
	movq FRAME_RIP(%rbx), %rax
	cmpq $leave_iret, %rax
	je refused
	cmpq $call_of_32_bits, %rax
	je 7f
	movq %r12, %rdi
	movq %rbx, %rsi
	call vmm_faulted
	ud2
1:	movl %r12d, %edi
	call is_concerned		// a waiting process gets signals too
	testb %al, %al
	je 5f
	lock
	orl $1, pending
	movq FRAME_RIP(%rbx), %rax
	subq $receive_begin, %rax
	cmpq $(receive_end - receive_begin), %rax
	jb 4f
	movq FRAME_RIP(%rbx), %rax
	subq $leave_begin, %rax
	cmpq $(leave_end - leave_begin), %rax
	jb 3f
	ret				// to signal_return
3:	// The registers were being restored: all of them are still in the Vcpu.
	call keep_vector_registers
	jmp leave_again
4:	movq $receive_interrupted, FRAME_RIP(%rbx)
	ret
5:	cmpl $TIMER_SIGNAL, %r12d
	jne 6f
	call forget_expired_timer
6:	ret
7:	// This host has no 32-bit calls.
	movq $-38, FRAME_RAX(%rbx)	// ENOSYS
	addq $(call_of_32_bits_end - call_of_32_bits), FRAME_RIP(%rbx)
	ret

// The iretq of `leave` faults, because the guest's target is invalid.
refused:
	call keep_vector_registers
	movq $vmm_stack_top, %rsp
	clear_flags
	call return_refused
	jmp leave

	.globl signal_return
signal_return:
	movl $CALL_RT_SIGRETURN, %eax
	syscall
	ud2

// ---- system calls that do not pass through the host: from a stub (user_mode/calls.hpp), as if by `syscall`

// RCX is the address at which the guest continues.
	.globl user_call
user_call:
	flags_to_r11
	jmp system_call_entry

general_system_call_entry:
	movq %rsp, VCPU(RSP)
	movq %rax, VCPU(RAX)
	movq %rcx, VCPU(RIP)
	movq %r11, VCPU(RFLAGS)
	save_but_rax
	movq $vmm_stack_top, %rsp
	clear_flags
	call system_call_entered
	jmp leave

// The guest continues in the stub, which stands for the site.
	.macro find_return_target
	movq %rcx, return_target
	movl user_call_number, %eax
	cmpq %rcx, USER_CALL_RETURNS(,%rax,8)
	jne 3f
	shll $USER_CALL_STUB_SHIFT, %eax
	addl $USER_CALL_TAILS, %eax
	movq %rax, return_target
3:
	.endm

#include "backends/common/ring3/system_calls.h"

// ---- back to the guest

// Also while the guest has interrupts disabled: it may poll a device, and nothing else would make the VMM look.
	.macro leave_otherwise
	testl $1, pending
	jnz leave_again
	.endm

#include "backends/common/ring3/leave.h"
leave_end:

leave_again:
	movq $vmm_stack_top, %rsp
	clear_flags
	call return_interrupted
	jmp leave

// ---- from one host process to another

// The monitor's signal comes to all host processes at once, although only those that execute a processor are
// concerned. Each of the others would wake up for it, in place of such a process or of the monitor. So a process that
// waits blocks the signal. The filter lets no other call but rt_sigreturn change that, which takes a frame: it sets
// the mask, and continues at an address, with no vector registers.
	.macro return_from_signal frame
	movq $\frame, %rsp
	movl $CALL_RT_SIGRETURN, %eax
	syscall
	ud2
	.endm

	.macro frame_to address, mask
	.quad 0, 0			// flags, link
	.quad PRIVATE_ADDRESS + 4096, 0, PRIVATE_STACK_TOP - PRIVATE_ADDRESS - 4096 // as entries.cpp sets it
	.fill 16, 8, 0			// general registers
	.quad \address, 2		// RFLAGS
	.short 0x33, 0, 0, 0x2b		// CS, GS, FS, SS
	.fill 13, 8, 0			// of the last exception; no vector registers
	.quad \mask
	.endm

	.section .rodata
	.balign 8
frame_of_waiting:
	frame_to wait_without_events, 1 << (EVENT_SIGNAL - 1)
frame_of_going_on:
	frame_to go_on, 0
	.text

// RDI is the address of a HostDescriptor. R8 to R11 are lost.
	.globl set_thread_area
set_thread_area:
	pushq %rbx
	movl %edi, %ebx
	movl $CALL_32_SET_THREAD_AREA, %eax
call_of_32_bits:
	int $0x80
call_of_32_bits_end:
	popq %rbx
	ret

// RDI is the current process, RSI the other: the same call returns there.
	.globl change_host
change_host:
	pushq %rbx
	pushq %rbp
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
	movq %rdi, %rbx
	movl $SAVED_COMPONENTS, %eax
	movl $-1, %edx
	xsave64 vector_registers
	movq %rsp, host_stack
	movq %rsi, %rdi
	movl $1, (%rdi)
	movl $1, %esi			// FUTEX_WAKE
	movl $1, %edx
	movl $CALL_FUTEX, %eax
	syscall
wait_for_turn: // RBX is the current process. No stack: the other process uses it.
	cmpb $0, waiting_ignores_events
	je wait_further
	return_from_signal frame_of_waiting
wait_without_events:
	movq PRIVATE_ADDRESS, %rbx
wait_further:
	cmpl $0, (%rbx)
	jne 1f
	movq %rbx, %rdi
	xorl %esi, %esi			// FUTEX_WAIT
	xorl %edx, %edx
	xorl %r10d, %r10d
	movl $CALL_FUTEX, %eax
	syscall
	jmp wait_further
1:	movl $0, (%rbx)
	cmpb $0, waiting_ignores_events
	je go_on
	return_from_signal frame_of_going_on
go_on:
	movq host_stack, %rsp
	movl $SAVED_COMPONENTS, %eax
	movl $-1, %edx
	xrstor64 vector_registers
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %rbp
	popq %rbx
	ret

// Makes a process like this one, on the same stack. RAX is its number, or an error number. ZF is set in the new process.
	.macro clone flags
	movl \flags, %edi
	xorl %esi, %esi
	xorl %edx, %edx
	xorl %r10d, %r10d
	xorl %r8d, %r8d
	movl $CALL_CLONE, %eax
	syscall
	testq %rax, %rax
	.endm

// RDI is the new process's Host. Returns its number, or an error number; the new process waits for its turn.
	.globl clone_host
clone_host:
	pushq %rbx
	movq %rdi, %rbx
	clone $CLONE_FLAGS
	jz 1f
	popq %rbx
	ret
1:	movq $PRIVATE_STACK_TOP, %rsp
	movq %rbx, %rdi
	call host_started
	jmp wait_for_turn

// RDI is the Host of the first process of another processor. Returns its number, or an error number; the processor
// begins in the new process.
	.globl clone_processor
clone_processor:
	pushq %rbx
	movq %rdi, %rbx
	clone $CLONE_FLAGS
	jz 1f
	popq %rbx
	ret
1:	movq $PRIVATE_STACK_TOP, %rsp
	movq %rbx, %rdi
	call map_own_pages
	movq $vmm_stack_top, %rsp
	call processor_entered
	jmp leave

// ---- user mode in a process of its own

// RDI is the offset in the file of its state, RSI that of its stub.
	.globl clone_user_template
clone_user_template:
	pushq %rbx
	pushq %rbp
	movq %rdi, %rbx
	movq %rsi, %rbp
	clone $(CLONE_FLAGS | CLONE_FILES)
	jz 1f
	popq %rbp
	popq %rbx
	ret
1:	// No stack: the other process uses it. Its mappings at these addresses are replaced.
	movl $USER_STATE, %edi
	movl $USER_STATE_BYTES, %esi
	movl $3, %edx			// read, write
	movl $0x11, %r10d		// shared, fixed
	movl $MEMORY_DESCRIPTOR, %r8d
	movq %rbx, %r9
	movl $CALL_MMAP, %eax
	syscall
	cmpq $USER_STATE, %rax
	jne 2f
	movl $USER_STUB, %edi
	movl $4096, %esi
	movl $5, %edx			// read, execute
	movl $0x11, %r10d
	movl $MEMORY_DESCRIPTOR, %r8d
	movq %rbp, %r9
	movl $CALL_MMAP, %eax
	syscall
	cmpq $USER_STUB, %rax
	jne 2f
	movq $USER_EXIT_FRAME, %rsp
	movl $(USER_STUB + user_stub_leave_offset), %eax
	jmp *%rax
2:	ud2

// RDI is the listener, RSI the buffer for its notification, EDX has the bits of `pending` that interrupt it.
	.globl receive_unless_pending
receive_unless_pending:
	movl %edx, %ecx
	movq %rsi, %rdx
	movl $NOTIFICATION_RECEIVE, %esi
receive_begin: // an event from here on interrupts it
	testl %ecx, pending
	jnz receive_interrupted
	movl $CALL_IOCTL, %eax
	syscall
receive_end:
	ret
receive_interrupted:
	movq $-4, %rax
	ret

	.section processor, "aw"
	.balign 8
	.globl exit_frame, exit_disabled, exit_needs_iret, interrupts_disabled, pending
exit_frame: .quad 0, 0, 0, 0, 0 // rip cs rflags rsp ss
host_stack: .quad 0
pending: .long 0 // also the host's futex
exit_disabled: .byte 0
exit_needs_iret: .byte 0
interrupts_disabled: .byte 1

	.globl user_call_number, quick_system_calls
	.balign 8 // stubs use these while a program's AC may be set
return_target: .quad 0
user_call_number: .long 0 // of the stub that called last
quick_system_calls: .byte 0

	.section processor, "aw"
	.balign 64
vector_registers:
	.skip 16384
	.globl vmm_stack_top
	.skip 32768
vmm_stack_top:

	.section .note.GNU-stack, "", @progbits
