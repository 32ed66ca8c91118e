// SPDX-License-Identifier: BSD-2-Clause
// The entries into the VMM and the exits. Each virtual processor has its state at the same address, in pages
// of its own.
//
// Xen delivers events only while the cell `upcall_mask` is 0. While the guest runs, it is the guest's
// interrupt flag, inverted; while the VMM runs, it is 1, so that nothing interrupts the VMM. Until an entry
// has set it, the entry uses the guest's registers and stack alone.
//
// Linux first runs at physical addresses, and then reaches the entries at an alias. Code up to the first
// absolute jump works at any address.
#include "backends/common/ring3/registers.h"

#define PENDING vcpu_information
#define INTERRUPTS_DISABLED vcpu_information + 1

#include "backends/common/ring3/mode_changes.h"

// Of usual_return: entries.cpp has the same.
#define USUAL_CODE 0
#define USUAL_STACK 8
#define USUAL_CODE_DESCRIPTOR 16
#define USUAL_STACK_DESCRIPTOR 24

	// Calls the handler at its linked address, and leaves from there.
	.macro enter handler
	pushq $leave
	movq $\handler, %rax
	jmp *%rax
	.endm

	// Events are disabled. Goes on to the VMM's own stack.
	.macro save_all_but_rax_and_rip
	movq %rsp, VCPU(RSP)
	movq %rcx, VCPU(RCX)
	movq %r11, VCPU(R11)
	save_but_rax_rcx_r11
	save_flags_on_own_stack
	.endm

	// Of a site that came by call.
	.macro take_site_call
	pushq %rax
	movb INTERRUPTS_DISABLED, %al
	movb $1, INTERRUPTS_DISABLED
	movb %al, entry_mask
	popq VCPU(RAX)
	popq VCPU(RIP)
	save_all_but_rax_and_rip
	.endm

	.text

// ---- rewritten sites

// By call: the return address identifies the site. A site whose RSP may be no stack does not come here.
	.globl general_site_call
general_site_call:
	take_site_call
	enter site_call_entered

// By call, from a site that mostly leaves nothing else to do: it then returns by itself.
quiet_site_call:
	take_site_call
	pushq $quick_site_done // linked: a load of CR3 may end the alias
	movq $quiet_site_entered, %rax
	jmp *%rax

// The same from a site that writes a page-table entry.
	.globl page_table_call
page_table_call:
	take_site_call
	movq $table_site_entered, %rax
	call *%rax
quick_site_done:
	testb %al, %al
	jz 3f
	restore_but_rax_rcx_r11
	movq VCPU(RCX), %rcx
	movq VCPU(R11), %r11
	movq VCPU(RSP), %rsp
	pushq VCPU(RIP)
	pushq VCPU(RFLAGS)
	movq VCPU(RAX), %rax
	cmpb $0, entry_mask
	jne 1f
	movb $0, INTERRUPTS_DISABLED // from here on the guest's registers and stack alone count
	cmpb $0, PENDING
	jne 2f
1:	popfq
	ret
2:	movb $1, INTERRUPTS_DISABLED
	movb $0, entry_mask
	popfq
	movq %rax, VCPU(RAX)
	popq VCPU(RIP)
	save_all_but_rax_and_rip
	enter event_found
3:	enter site_call_entered

// By jump, through a trampoline that has saved RAX and loaded its own number. RSP may be anything.
	.globl site_jump, site_jump_masked, system_return_jump, interrupt_return_jump
site_jump:
	movl %eax, jump_number
	movb INTERRUPTS_DISABLED, %al
	movb $1, INTERRUPTS_DISABLED
	jmp site_jump_masked

// The jump of sysretq.
system_return_jump:
	movl %eax, jump_number
	movb INTERRUPTS_DISABLED, %al
	movb $1, INTERRUPTS_DISABLED
	movq %rsp, VCPU(RSP)
	movq $vmm_stack_top, %rsp
	pushfq
	testb %al, %al
	jz 1f
	check_system_return 1f
	note_system_return
	pushq $SELECTOR_STACK
	pushq VCPU(RSP)
	pushq %r11
	pushq $SELECTOR_CODE
	pushq %rcx
	pushq $0
	pushq %rcx
	pushq %r11
	pushq jump_rax
	jmp return_to_user
1:	popfq
	movq VCPU(RSP), %rsp
	jmp site_jump_masked

// The jump of iretq. Does returns to 64-bit user mode by the same segments as the last one, if the guest's GDT
// still has their descriptors. A fault of its reads starts again on the general path.
interrupt_return_jump:
	movl %eax, jump_number
	movb INTERRUPTS_DISABLED, %al
	movb $1, INTERRUPTS_DISABLED
	movb %al, entry_mask
	movq %rsp, return_rsp
	movq $vmm_stack_top, %rsp
	pushfq
	popq return_flags
	testb %al, %al
	jz 2f
	cmpb $0, quick_system_calls
	je 2f
	cmpb $0, PENDING
	jne 2f
	cmpw $CPL_0_AND_GS_EXCHANGED, VCPU(CPL)
	jne 2f
	cmpq $SELECTOR_CODE, usual_return + USUAL_CODE
	jne 2f
	cmpq $SELECTOR_STACK, usual_return + USUAL_STACK
	jne 2f
	.globl interrupt_return_reads, interrupt_return_reads_end
interrupt_return_reads:
	movq VCPU(GDT_BASE), %rax
	movq SELECTOR_CODE - 3(%rax), %rax
	cmpq %rax, usual_return + USUAL_CODE_DESCRIPTOR
	jne 2f
	movq VCPU(GDT_BASE), %rax
	movq SELECTOR_STACK - 3(%rax), %rax
	cmpq %rax, usual_return + USUAL_STACK_DESCRIPTOR
	jne 2f
	movq return_rsp, %rax
	cmpq $SELECTOR_CODE, 8(%rax)
	jne 2f
	cmpq $SELECTOR_STACK, 32(%rax)
	jne 2f
	testq $FLAGS_BUT_ARITHMETIC_IF_AND_RF, 16(%rax)
	jnz 2f
	btl $FLAG_IF_BIT, 16(%rax)
	jnc 2f
	pushq $SELECTOR_STACK
	pushq 24(%rax)
	pushq 16(%rax)
	pushq $SELECTOR_CODE
	movq (%rax), %rax
interrupt_return_reads_end:
	cmpq %rax, lower_half_end
	jbe 2f
	pushq %rax
	pushq $0
	pushq %rcx
	pushq %r11
	pushq jump_rax
	note_system_return
	jmp return_to_user
2:	movq $vmm_stack_top, %rsp
	pushq return_flags
	popfq
	movq return_rsp, %rsp
	movb entry_mask, %al
site_jump_masked:
	movb %al, entry_mask
	movq jump_rax, %rax
	movq %rax, VCPU(RAX)
	save_all_but_rax_and_rip
	enter site_jump_entered

#include "backends/common/ring3/site_calls.h"
#include "backends/common/ring3/state_instructions.h"

// ---- from Xen: rcx r11 [error code] rip cs rflags rsp ss, on the guest kernel's stack or, from user mode,
// on the VMM's

	// RCX and R11 are saved.
	.macro take_guest
	take_frame
	movq %rax, VCPU(RAX)
	save_but_rax_rcx_r11
	movq $vmm_stack_top, %rsp
	cld
	.endm

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
	take_guest
	enter exception_entered

	.globl event_callback
event_callback:
	movq 16(%rsp), %rcx
	subq $leave_begin, %rcx
	cmpq $(leave_end - leave_begin), %rcx
	jb 1f
	popq VCPU(RCX)
	popq VCPU(R11)
	take_guest
	enter event_entered
1:	// The registers were being restored: all of them are still in the Vcpu.
	movq $vmm_stack_top, %rsp
	enter return_interrupted

#define MASK_IN_FRAME 28 // behind CS
#define RIP_IN_FRAME 16
#define RSP_IN_FRAME 24 // once RCX and R11 are popped

	// As record_event, with the registers that are still in the frame.
	.macro record_system_call
	movl event_ring + EVENT_RING_NEXT, %ecx
	incl event_ring + EVENT_RING_NEXT
	andl $EVENT_RING_MASK, %ecx
	imull $EVENT_BYTES, %ecx, %ecx
	movb $EVENT_SYSCALL, event_ring + EVENT_RING_EVENT(%rcx)
	movq RIP_IN_FRAME(%rsp), %r11
	movq %r11, event_ring + EVENT_RING_FIRST(%rcx)
	movq %rax, event_ring + EVENT_RING_SECOND(%rcx)
	.endm

	.macro system_call name, handler
	.globl \name
\name:
	popq VCPU(RCX)
	popq VCPU(R11)
	take_guest
	enter \handler
	.endm

	system_call general_system_call, system_call_entered
	system_call system_call_32_callback, system_call_32_entered

// A quick system call, or else the general path. RCX and R11 already have the guest's values, except RF.
	.globl system_call_callback
system_call_callback:
	cmpb $0, quick_system_calls
	je general_system_call
	cmpb $0, MASK_IN_FRAME(%rsp)
	jne general_system_call
	testl $FLAG_IOPL, VCPU(SYSTEM_FLAGS)
	jnz general_system_call
	note_system_call
	record_system_call
	pushq $2
	popfq
	popq %rcx
	popq %r11
	btrl $FLAG_RF_BIT, %r11d
	movq RSP_IN_FRAME(%rsp), %rsp
	jmp *VCPU(LSTAR)

	.globl failsafe_callback
failsafe_callback:
	movq $vmm_stack_top, %rsp
	enter failsafe_entered

// ---- back to the guest: AL is 1 for user mode

	.globl enter_guest
enter_guest:
	movq $vmm_stack_top, %rsp
	enter return_interrupted

// Another than the boot processor begins here, on its own stack, with events masked.
	.globl xen_start_processor_entry
xen_start_processor_entry:
	cld
	enter processor_entered

leave:
	testb %al, %al
	jnz leave_user
	movq VCPU(RFLAGS), %rdx
	andl $0x210dd5, %edx
	orl $2, %edx
leave_begin: // an event from here on starts over
	movq $vmm_stack_top, %rsp
	movb exit_mask, %al
	movb %al, INTERRUPTS_DISABLED
	testb %al, %al
	jnz 1f
	cmpb $0, PENDING
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
2:	movb $1, INTERRUPTS_DISABLED
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
return_to_user:
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

#include "backends/common/ring3/site_pointers.h"

	.section processor, "aw"
	.balign 8
	.globl trap_error_code, trap_cs, trap_ss, trap_vector, entry_mask, exit_mask, exit_user_flags
	.globl jump_rax, jump_rcx, jump_number, quick_system_calls, return_rsp, return_flags
trap_error_code: .quad 0
trap_cs: .quad 0
trap_ss: .quad 0
exit_user_flags: .quad 0
jump_rax: .quad 0
jump_rcx: .quad 0
return_rsp: .quad 0
return_flags: .quad 0
jump_number: .long 0
trap_vector: .long 0
entry_mask: .byte 0
exit_mask: .byte 0
quick_system_calls: .byte 0

	.balign 16
	.globl vmm_stack_top
	.skip 32768
vmm_stack_top:

	.section .note.GNU-stack, "", @progbits
