// SPDX-License-Identifier: BSD-2-Clause
// For entry.S: `syscall` and `sysretq` where nothing but the mode changes, which is nearly always. The guest's
// registers stay where they are. All else goes the general way, from its start.
//
// quick_system_calls says that neither isolation nor the guest's MSRs stand against it, and that nothing is left to
// do before user mode runs (entries.cpp). find_return_target is the back-end's: RCX is where the guest goes on, RAX is
// free.
#define FLAG_IOPL 0x3000
#define FLAG_IF_BIT 9
#define FLAG_RF_BIT 16
#define FLAGS_BUT_ARITHMETIC_AND_IF ~0xed7

// RCX and R11 are already what the guest is to find there, but for RF.
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
	movq %rax, user_gs_base
	movq kernel_gs_base, %rax
	wrgsbase %rax
	movb $0, VCPU(CPL)
	movb $0xff, VCPU(GS_EXCHANGED)
	movq $0, VCPU(SYSTEM_FLAGS)
	movq $SELECTOR_GUEST_CODE, VCPU(CS)
	movq $SELECTOR_GUEST_STACK, VCPU(SS)
	incq counters + COUNTERS_SYSTEM_CALLS
	movq $vmm_stack_top, %rsp
	clear_flags
	movq VCPU(RSP), %rsp
	movq VCPU(RAX), %rax
	jmp *VCPU(LSTAR)

// By jump, as to site_jump.
	.globl system_return_jump
system_return_jump:
	movl %eax, jump_number
	movq %rsp, VCPU(RSP)
	movq $vmm_stack_top, %rsp
	pushfq
	cmpb $0, quick_system_calls
	je 1f
	cmpb $1, interrupts_disabled
	jne 1f
	cmpb $0, pending
	jne 1f
	cmpb $0, VCPU(CPL)
	jne 1f
	cmpb $0xff, VCPU(GS_EXCHANGED)
	jne 1f
	testq $FLAGS_BUT_ARITHMETIC_AND_IF, %r11
	jnz 1f
	btl $FLAG_IF_BIT, %r11d
	jnc 1f
	movq %rcx, %rax
	shrq $47, %rax
	jnz 1f
	movq user_gs_base, %rax
	wrgsbase %rax
	movb $3, VCPU(CPL)
	movq $0, VCPU(SYSTEM_FLAGS)
	movq $SELECTOR_CODE, VCPU(CS)
	movq $SELECTOR_STACK, VCPU(SS)
	movq $0, VCPU(KERNEL_SELECTORS)
	movl $0, VCPU(KERNEL_SELECTORS) + 8
	incq counters + COUNTERS_USER_RETURNS
	find_return_target
system_return_begin: // an event from here on has come to user mode
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
