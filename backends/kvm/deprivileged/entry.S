// SPDX-License-Identifier: BSD-2-Clause
// The entries into the VMM and the exits. A processor's state is at the same address for each of them.
//
// All of this runs at level 3, which cannot turn the processor's interrupts off: events come at any time. In
// .text the VMM is at work, and an event is only noted (`pending`). The code in .guest_text acts for the
// guest, and an event there came to the guest.
//
// Linux first runs at physical addresses, and then reaches .guest_text at an alias: the code works at any
// address.
//
// With --isolate, user mode has a root of its own. It maps .shared, for level 0 alone, and .user_gate: the
// gates then lead to level 0, which changes the root and continues at level 3.
#include "backends/kvm/deprivileged/event_gate.h"
#include "backends/kvm/deprivileged/user_call_offsets.h"
#include "backends/common/ring3/registers.h"

#define BREAKPOINT 3
#define breakpoint_gate interrupt_table + 16 * BREAKPOINT
#define PENDING pending
#define INTERRUPTS_DISABLED interrupts_disabled

	.macro note_user_root
	movb in_user_root, %al
	movb %al, trap_in_user_root
	movb $0, in_user_root
	.endm

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

	.text

	.globl kvm_start_entry
kvm_start_entry:
	movq $vmm_stack_top, %rsp
	call kvm_start
	ud2

	.globl kvm_start_processor_entry
kvm_start_processor_entry:
	movq $vmm_stack_top, %rsp
	call processor_entered
	jmp leave

// ---- rewritten sites

#include "backends/common/ring3/site_ways.h"

	.text

// ---- exceptions: each on the first stack of the IST, [error code] rip cs rflags rsp ss. A page fault's address
// is in CR2, which level 3 cannot read (find_fault_address).

	.macro exception vector, has_error_code=0
	.balign 16
exception_\vector:
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
	movq %rax, VCPU(RAX)
	movq (%rsp), %rax
	cmpq $leave_iret, %rax
	je refused
	cmpq $level_0_leave_iret, %rax
	je refused
	note_user_root
	take_frame
	save_but_rax
	movq $vmm_stack_top, %rsp
	clear_flags
	call exception_entered
	jmp leave

// The iretq of `leave` faults, because the guest's target is invalid. All of the guest's state is still in
// the Vcpu, except RAX, which was loaded from there.
refused:
	note_user_root
	movq $vmm_stack_top, %rsp
	clear_flags
	call return_refused
	jmp leave

// ---- an event, on the second stack of the IST. There is no second one before the local APIC is told of the
// first one's end.

event_entry:
	movq %rax, event_rax
	lock orb $1, pending // monitor and other processors write it too
	cmpb $1, in_user_root
	je 4f
	testb $3, 8(%rsp)
	jz woken
	movq (%rsp), %rax
	subq $vmm_text_start, %rax
	cmpq $vmm_text_bytes, %rax
	jb 1f
5:	movq event_rax, %rax
	movq %rax, VCPU(RAX)
	take_frame
	save_but_rax
	movq $vmm_stack_top, %rsp
	clear_flags
	call event_entered
	jmp leave
4:	// With --isolate: user mode, at any address.
	movb $0, in_user_root
	jmp 5b
1:	movq (%rsp), %rax
	subq $leave_begin, %rax
	cmpq $(leave_end - leave_begin), %rax
	jb 2f
	movq (%rsp), %rax
	subq $system_return_begin, %rax
	cmpq $(system_return_end - system_return_begin), %rax
	jb system_return_interrupted
	movq (%rsp), %rax
	subq $system_call_begin, %rax
	cmpq $(system_call_end - system_call_begin), %rax
	jb system_call_interrupted
7:	movq event_rax, %rax
	iretq
woken: // level_0_halt was interrupted, on the first stack: the processor goes on behind its breakpoint
	movq trap_stack_top - 16, %rsp
	jmp level_0_done
2:	// The registers were being restored: all of them are still in the Vcpu.
	jmp leave_again

// ---- system calls: they arrive without a change of level or stack

	.globl general_system_call_entry
general_system_call_entry:
	movq %rsp, VCPU(RSP)
	movq %rax, VCPU(RAX)
	movq %rcx, VCPU(RIP)
	movq %r11, VCPU(RFLAGS)
	save_but_rax
	note_user_root
	movq $vmm_stack_top, %rsp
	clear_flags
	call system_call_entered
	jmp leave

// ---- system calls that do not pass through KVM: from a stub (user_calls.hpp), as if by `syscall`

// RCX is the address at which the guest continues.
	.globl user_call
user_call:
	flags_to_r11
	cmpq $-1, %rcx
	jne system_call_entry
	movq $vmm_stack_top, %rsp
	call user_call_is_unknown
	ud2

// The guest continues in the stub, which stands for the site.
	.macro find_return_target
	movq %rcx, return_target
	movl user_call_number, %eax
	shlq $3, %rax
	addq user_call_returns, %rax
	cmpq %rcx, (%rax)
	jne 3f
	movl user_call_number, %eax
	movslq user_call_targets(,%rax,4), %rax
	addq %rcx, %rax
	movq %rax, user_call_target
	movl user_call_number, %eax
	movzbl user_call_lengths(%rax), %eax
	addq %rcx, %rax
	movq %rax, user_call_return_address
	movl user_call_number, %eax
	shlq $USER_CALL_STUB_SHIFT, %rax
	addq $(user_call_stubs + USER_CALL_TAIL), %rax
	movq %rax, return_target
3:
	.endm

#define SAMPLES_SYSTEM_CALLS
#define ACKNOWLEDGES_EVENTS
#include "backends/common/ring3/system_calls.h"

// ---- back to the guest

// The VMM acknowledges an event before a guest with disabled interrupts goes on (system_calls.h).
	.macro leave_otherwise
	testb $1, pending
	jnz leave_again
	cmpb $0, exit_changes_root
	jne leave_to_user_root
	.endm

#include "backends/common/ring3/leave.h"

leave_to_user_root:
	movq level_0_leave_gate, %rax
	movq %rax, breakpoint_gate
	movq VCPU(RIP), %rax
	movq %rax, exit_frame
	movq VCPU(RSP), %rax
	movq %rax, exit_frame + 24
	movq VCPU(RAX), %rax
	movq %rax, exit_rax
	restore_all
	movq guests_breakpoint_gate, %rax
	int3
leave_end:

leave_again:
	movq guests_breakpoint_gate, %rax
	movq %rax, breakpoint_gate
	movq $vmm_stack_top, %rsp
	clear_flags
	call return_interrupted
	jmp leave

// ---- at level 0, interpreted by KVM at more than half a microsecond an instruction

// Runs the function with the gate RDI, of those below, with RSI. KVM reads a gate when it delivers an exception:
// two stores at level 3 lead the breakpoint to another place sooner than level 0 could ask why it came.
	.globl enter_level_0
enter_level_0:
	movq %rdi, breakpoint_gate
	int3
level_0_done:
	movq guests_breakpoint_gate, %rcx
	movq %rcx, breakpoint_gate
	ret

	// Not by sysretq, which is interpreted in a third of the time: this KVM then has no descriptor in SS, and a
	// far call of a program's raises a stack fault.
	.section .shared, "awx"
	.globl level_0_load_root, level_0_invalidate, level_0_write_cr0, level_0_write_cr4, level_0_read_fault_address, level_0_halt
level_0_load_root:
	movq %rsi, %cr3
	iretq

level_0_invalidate:
	invlpg (%rsi)
	iretq

level_0_write_cr0:
	movq %rsi, %cr0
	iretq

level_0_write_cr4:
	movq %rsi, %cr4
	iretq

level_0_read_fault_address:
	movq %cr2, %rax
	iretq

level_0_halt: // unless one of these events is pending
	testl %esi, pending
	jnz 1f
	sti
	hlt
1:	iretq

// An event. If another thread has made KVM deliver it while KVM was about to run the processor, KVM delivers it
// a second time, at the first instructions at level 3. The second frame must not replace the first one: until the
// VMM acknowledges the event, the gate leads to another stack, and from there back.
	.macro lead_duplicates_back
	movw $duplicate_event_gate_low, interrupt_table + 16 * EVENT_VECTOR
	movb $DUPLICATE_STACK, interrupt_table + 16 * EVENT_VECTOR + 4
	.endm

	.globl event_gate
event_gate:
	lead_duplicates_back
	movq $event_frame, %rsp
	iretq

	.globl duplicate_event_gate
duplicate_event_gate:
	iretq

// ---- the same for --isolate

// RAX is the gate of a breakpoint of user mode's.
	.globl level_0_leave
level_0_leave:
	movq %rax, breakpoint_gate
	movb $1, in_user_root
	movq user_root, %rax
	movq %rax, %cr3
	movq exit_rax, %rax
	movq $exit_frame, %rsp
level_0_leave_iret:
	iretq

	.macro change_root frame
	shlb $1, in_user_root
	movq kernel_root, %rsp
	movq %rsp, %cr3
	movq $\frame, %rsp
	iretq
	.endm

	.irp vector, 0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 18, 19
isolated_gate_\vector:
	change_root isolated_frame_\vector
	.endr

	.globl isolated_event_gate
isolated_event_gate: // the handler makes the request
	lead_duplicates_back
	movq kernel_root, %rsp
	movq %rsp, %cr3
	movq $event_frame, %rsp
	iretq

	// The exit of level 0's gates: to level 3, on the frame that the processor pushed.
	.macro level_3_frame name, entry, stack
	.balign 8
\name:	.quad \entry, SELECTOR_CODE, 0x202, \stack, SELECTOR_STACK
	.endm
	level_3_frame event_frame, event_entry, (event_stack_top - 40)
	level_3_frame isolated_frame_3, isolated_breakpoint, (trap_stack_top - 40)
	.irp vector, 0, 1, 4, 5, 6, 7, 9, 16, 18, 19
	level_3_frame isolated_frame_\vector, exception_\vector, (trap_stack_top - 40)
	.endr
	.irp vector, 8, 10, 11, 12, 13, 14, 17
	level_3_frame isolated_frame_\vector, exception_\vector, (trap_stack_top - 48)
	.endr

	.balign 8
	.globl kernel_root, user_root, exit_frame, pending
kernel_root: .quad 0
user_root: .quad 0
exit_frame: .quad 0, 0, 0, 0, 0 // rip cs rflags rsp ss
exit_rax: .quad 0
	.balign 4
pending: .long 0
in_user_root: .byte 0 // with --isolate: 1 while user mode runs, 2 from a gate until the VMM has noted it

	.balign 16
	.globl trap_stack_top, event_stack_top, duplicate_stack_top
	.skip 512
trap_stack_top:
	.skip 512
event_stack_top:
	.skip 64
duplicate_stack_top:

	.text
// The user's RSP is in the frame of the breakpoint.
isolated_breakpoint:
	cmpq $after_system_call, (%rsp)
	jne exception_3
	movq trap_stack_top - 16, %rsp
	jmp system_call_entry

// In user mode's root: the target of `syscall` there.
	.section .user_gate, "ax"
	.globl isolated_system_call_entry
isolated_system_call_entry:
	int3
after_system_call:

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

	.globl isolated_gates
isolated_gates: // the same for level 0
	.irp vector, 0, 1
	.quad isolated_gate_\vector
	.endr
	.quad 0
	.irp vector, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14
	.quad isolated_gate_\vector
	.endr
	.quad 0
	.irp vector, 16, 17, 18, 19
	.quad isolated_gate_\vector
	.endr

	.section processor, "aw"
	.balign 8
	.globl trap_error_code, trap_cs, trap_ss, trap_vector, interrupts_disabled
	.globl exit_disabled, exit_changes_root, exit_needs_iret, trap_in_user_root, quick_system_calls
trap_error_code: .quad 0
trap_cs: .quad 0
trap_ss: .quad 0
event_rax: .quad 0
	.globl guests_breakpoint_gate, level_0_leave_gate
guests_breakpoint_gate: .quad 0 // while the VMM needs no level 0
level_0_leave_gate: .quad 0
trap_vector: .long 0
exit_disabled: .byte 0
exit_changes_root: .byte 0
exit_needs_iret: .byte 0 // iret takes ten times as long as a jump
interrupts_disabled: .byte 1
trap_in_user_root: .byte 0
quick_system_calls: .byte 0
	.balign 8 // stubs use these while a program's AC may be set
	.globl user_call_number, user_call_target, user_call_return_address, user_call_returns, return_target
	.globl system_calls_to_sample
return_target: .quad 0
user_call_target: .quad 0 // the address at which the stub continues
user_call_return_address: .quad 0 // the one that it pushes, if it calls
user_call_returns: .quad 0 // of the current root, by the site's number
user_call_number: .long 0
system_calls_to_sample: .long 1

	.balign 16
	.globl vmm_stack_top
	.skip 32768
vmm_stack_top:

	.section .note.GNU-stack, "", @progbits
