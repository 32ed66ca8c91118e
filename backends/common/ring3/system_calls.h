// SPDX-License-Identifier: BSD-2-Clause
// For entry.S: quick system calls for back-ends that need no privileged instruction there. The guest's
// registers stay in the processor. All other cases start again on the general path. find_return_target is the
// back-end's: RCX is the address at which the guest continues, RAX is free. ACKNOWLEDGES_EVENTS: until the VMM
// acknowledges an event there is no other. So a kernel must not begin, with interrupts disabled, before that:
// another processor could not gather this one.
#include "backends/common/ring3/mode_changes.h"

// RCX and R11 already have the guest's values, except RF.
	.globl system_call_entry
system_call_entry:
	cmpb $0, quick_system_calls
	je general_system_call_entry
	cmpb $0, interrupts_disabled
	jne general_system_call_entry
	testl $FLAG_IOPL, VCPU(SYSTEM_FLAGS)
	jnz general_system_call_entry
#ifdef SAMPLES_SYSTEM_CALLS
	decl system_calls_to_sample
	jz general_system_call_entry
#endif
	movb $1, interrupts_disabled
	btrl $FLAG_RF_BIT, %r11d
	movq %rax, VCPU(RAX)
	movq %rsp, VCPU(RSP)
	rdgsbase %rax
	movq %rax, VCPU(USER_GS_BASE)
	movq VCPU(KERNEL_GS_BASE), %rax
	wrgsbase %rax
	note_system_call
	movq $vmm_stack_top, %rsp
#ifdef ACKNOWLEDGES_EVENTS
system_call_begin: // an event from here on came to the guest's kernel
	testb $1, pending
	jnz system_call_interrupted
#endif
	clear_flags
	movq VCPU(RSP), %rsp
	movq VCPU(RAX), %rax
	jmp *VCPU(LSTAR)
#ifdef ACKNOWLEDGES_EVENTS
system_call_end:

system_call_interrupted:
	movq VCPU(LSTAR), %rax
	movq %rax, VCPU(RIP)
	movq $2, VCPU(RFLAGS)
	save_but_rax
	jmp leave_again
#endif

	.globl interrupt_return_jump
	.set interrupt_return_jump, site_jump

// By jump, as to site_jump.
	.globl system_return_jump
system_return_jump:
	movl %eax, jump_number
	movq %rsp, VCPU(RSP)
	movq $vmm_stack_top, %rsp
	pushfq
	cmpb $1, interrupts_disabled
	jne 1f
	check_system_return 1f
	movq VCPU(USER_GS_BASE), %rax
	wrgsbase %rax
	note_system_return
	find_return_target
system_return_begin: // an event from here on came to user mode
	movb $0, interrupts_disabled
	cmpb $0, pending
	jne system_return_interrupted
	pushq %r11
	popfq
	movq VCPU(RSP), %rsp
	movq jump_rax, %rax
	jmp *return_target
system_return_end:
1:	popfq
	movq VCPU(RSP), %rsp
	jmp site_jump_masked

system_return_interrupted:
	movq jump_rax, %rax
	movq %rax, VCPU(RAX)
	movq %rcx, VCPU(RIP)
	movq %r11, VCPU(RFLAGS)
	save_but_rax
	jmp leave_again
