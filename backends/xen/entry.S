// SPDX-License-Identifier: BSD-2-Clause
// The ways into the VMM and out of it. One virtual processor: its state has a fixed address.
//
// Xen delivers events only while the cell `upcall_mask` is 0. It is the guest's interrupt flag, inverted, while
// the guest runs, and 1 while the VMM does, so that nothing here is interrupted: until an entry has set it, it
// uses the guest's registers and stack alone.
//
// Linux first runs at physical addresses, and then reaches the entries at an alias. Code up to the first absolute
// jump works at any address.
#include "vcpu_offsets.h"

#define VCPU(field) vcpu + VCPU_##field
#define UPCALL_PENDING shared_info
#define UPCALL_MASK shared_info + 1

	.macro save_but_rax_rcx_r11
	movq %rdx, VCPU(RDX)
	movq %rbx, VCPU(RBX)
	movq %rbp, VCPU(RBP)
	movq %rsi, VCPU(RSI)
	movq %rdi, VCPU(RDI)
	movq %r8, VCPU(R8)
	movq %r9, VCPU(R9)
	movq %r10, VCPU(R10)
	movq %r12, VCPU(R12)
	movq %r13, VCPU(R13)
	movq %r14, VCPU(R14)
	movq %r15, VCPU(R15)
	.endm

	.macro restore_but_rax_rcx_r11
	movq VCPU(RDX), %rdx
	movq VCPU(RBX), %rbx
	movq VCPU(RBP), %rbp
	movq VCPU(RSI), %rsi
	movq VCPU(RDI), %rdi
	movq VCPU(R8), %r8
	movq VCPU(R9), %r9
	movq VCPU(R10), %r10
	movq VCPU(R12), %r12
	movq VCPU(R13), %r13
	movq VCPU(R14), %r14
	movq VCPU(R15), %r15
	.endm

	.macro save_flags_on_own_stack
	movq $vmm_stack_top, %rsp
	pushfq
	popq VCPU(RFLAGS)
	cld
	.endm

	// Calls by the address that was linked, and leaves from there.
	.macro enter handler
	pushq $leave
	movq $\handler, %rax
	jmp *%rax
	.endm

	.text

// ---- rewritten sites

// By call: the return address tells which site it is. No stack pointer that cannot be pushed to comes here.
	.globl general_site_call
general_site_call:
	pushq %rax
	movb UPCALL_MASK, %al
	movb $1, UPCALL_MASK
	movb %al, entry_mask
	popq VCPU(RAX)
	popq VCPU(RIP)
	movq %rsp, VCPU(RSP)
	movq %rcx, VCPU(RCX)
	movq %r11, VCPU(R11)
	save_but_rax_rcx_r11
	save_flags_on_own_stack
	enter site_call_entered

// By jump, through a trampoline that has put RAX away and loaded its number. RSP may be anything.
	.globl site_jump, site_jump_masked
site_jump:
	movl %eax, jump_number
	movb UPCALL_MASK, %al
	movb $1, UPCALL_MASK
site_jump_masked:
	movb %al, entry_mask
	movq jump_rax, %rax
	movq %rax, VCPU(RAX)
	movq %rsp, VCPU(RSP)
	movq %rcx, VCPU(RCX)
	movq %r11, VCPU(R11)
	save_but_rax_rcx_r11
	save_flags_on_own_stack
	enter site_jump_entered

// sti: no flag may change, and jrcxz is the branch that reads none.
	.globl sti_call
sti_call:
	pushq %rcx
	movb $0, UPCALL_MASK
sti_enabled: // what comes from here to sti_end has to wait for the instruction behind sti
	movzbl UPCALL_PENDING, %ecx
	jrcxz 1f
	jmp 2f
1:	popq %rcx
	ret
sti_end:
2:	// Taken back: the whole instruction is done again, with care for its shadow.
	movb $1, UPCALL_MASK
	popq %rcx
	jmp general_site_call

	.globl pushf_call
pushf_call:
	pushq (%rsp)
	pushfq
	pushq %rax
	movzbl UPCALL_MASK, %eax
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
	movb $1, UPCALL_MASK
	jmp 3f
1:	movb $0, UPCALL_MASK
	cmpb $0, UPCALL_PENDING
	je 3f
	movb $1, UPCALL_MASK
2:	// IF was maybe set before: the general way reads it from the cell, and popf sets it anyway.
	popq %rax
	jmp general_site_call
3:	movq 8(%rsp), %rax // the return address goes below the flags
	xchgq %rax, 16(%rsp)
	movq %rax, 8(%rsp)
	popq %rax
	popfq
	ret

// ---- from Xen: rcx r11 [error code] rip cs rflags rsp ss, on the guest kernel's stack or, from user mode, on ours

	.macro exception vector, has_error_code=0
	.balign 16
exception_\vector:
	popq VCPU(RCX)
	popq VCPU(R11)
	.if \has_error_code
	popq trap_error_code
	.else
	movq $0, trap_error_code
	.endif
	movl $\vector, trap_vector
	jmp trapped
	.endm

	.irp vector, 0, 1, 3, 4, 5, 6, 7, 9, 16, 18, 19
	exception \vector
	.endr
	.irp vector, 8, 10, 11, 12, 13, 14, 17
	exception \vector, 1
	.endr

trapped:
	popq VCPU(RIP)
	popq trap_cs
	popq VCPU(RFLAGS)
	popq VCPU(RSP)
	popq trap_ss
	movq %rax, VCPU(RAX)
	save_but_rax_rcx_r11
	movq $vmm_stack_top, %rsp
	cld
	enter exception_entered

	.globl event_callback
event_callback:
	movq 16(%rsp), %rcx
	subq $leave_begin, %rcx
	cmpq $(leave_end - leave_begin), %rcx
	jb 1f
	popq VCPU(RCX)
	popq VCPU(R11)
	popq VCPU(RIP)
	popq trap_cs
	popq VCPU(RFLAGS)
	popq VCPU(RSP)
	popq trap_ss
	movq %rax, VCPU(RAX)
	save_but_rax_rcx_r11
	movq $vmm_stack_top, %rsp
	cld
	enter event_entered
1:	// The registers were being restored: all of them are still in the Vcpu.
	movq $vmm_stack_top, %rsp
	enter return_interrupted

	.macro system_call name, handler
	.globl \name
\name:
	popq VCPU(RCX)
	popq VCPU(R11)
	popq VCPU(RIP)
	popq trap_cs
	popq VCPU(RFLAGS)
	popq VCPU(RSP)
	popq trap_ss
	movq %rax, VCPU(RAX)
	save_but_rax_rcx_r11
	movq $vmm_stack_top, %rsp
	cld
	enter \handler
	.endm

	system_call system_call_callback, system_call_entered
	system_call system_call_32_callback, system_call_32_entered

	.globl failsafe_callback
failsafe_callback:
	movq $vmm_stack_top, %rsp
	enter failsafe_entered

// ---- back to the guest: AL is 1 for user mode

	.globl enter_guest
enter_guest:
	movq $vmm_stack_top, %rsp
	enter return_interrupted

leave:
	testb %al, %al
	jnz leave_user
	movq VCPU(RFLAGS), %rdx
	andl $0x210dd5, %edx
	orl $2, %edx
leave_begin: // an event from here on starts over
	movq $vmm_stack_top, %rsp
	movb exit_mask, %al
	movb %al, UPCALL_MASK
	testb %al, %al
	jnz 1f
	cmpb $0, UPCALL_PENDING
	jne 2f
1:	pushq $0xe02b
	pushq VCPU(RSP)
	pushq %rdx
	pushq $0xe033
	pushq VCPU(RIP)
	movq VCPU(RAX), %rax
	movq VCPU(RCX), %rcx
	movq VCPU(R11), %r11
	restore_but_rax_rcx_r11
	iretq
2:	movb $1, UPCALL_MASK
leave_end:
	enter return_interrupted

// HYPERVISOR_iret takes struct iret_context from the stack and sets the mask by RFLAGS.IF.
leave_user:
	movq $vmm_stack_top, %rsp
	pushq VCPU(SS)
	pushq VCPU(RSP)
	pushq exit_user_flags
	pushq VCPU(CS)
	pushq VCPU(RIP)
	pushq $0
	pushq VCPU(RCX)
	pushq VCPU(R11)
	pushq VCPU(RAX)
	restore_but_rax_rcx_r11
	movl $23, %eax
	syscall
	ud2

	.section .rodata
	.balign 8
	.globl exception_entries
exception_entries: // by vector; 0: none
	.irp vector, 0, 1
	.quad exception_\vector
	.endr
	.quad 0
	.irp vector, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14
	.quad exception_\vector
	.endr
	.quad 0
	.irp vector, 16, 17, 18, 19
	.quad exception_\vector
	.endr

	.globl general_site_pointer
general_site_pointer: .quad general_site_call
	.globl sti_pointer
sti_pointer: .quad sti_call
	.globl pushf_pointer
pushf_pointer: .quad pushf_call
	.globl popf_pointer
popf_pointer: .quad popf_call
	.globl sti_region
sti_region: .quad sti_enabled, sti_end

	.data
	.balign 8
	.globl trap_error_code, trap_cs, trap_ss, trap_vector, entry_mask, exit_mask, exit_user_flags
	.globl jump_rax, jump_rcx, jump_number
trap_error_code: .quad 0
trap_cs: .quad 0
trap_ss: .quad 0
exit_user_flags: .quad 0
jump_rax: .quad 0
jump_rcx: .quad 0
jump_number: .long 0
trap_vector: .long 0
entry_mask: .byte 0
exit_mask: .byte 0

	.section .note.GNU-stack, "", @progbits
