// SPDX-License-Identifier: BSD-2-Clause
// For entry.S: `syscall` and `sysretq` if they only change the mode, which is nearly always, and the checks
// for this case.
// quick_system_calls says that neither isolation nor the guest's MSRs forbid it, and that nothing is left to
// do before user mode runs (entries.cpp).
#define SELECTOR_GUEST_CODE 0x10 // quick_system_calls.cpp has checked it
#define SELECTOR_GUEST_STACK 0x18
#define SELECTOR_CODE 0x33
#define SELECTOR_STACK 0x2b
#define FLAG_IOPL 0x3000
#define FLAG_IF_BIT 9
#define FLAG_RF_BIT 16
#define FLAGS_BUT_ARITHMETIC_AND_IF ~0xed7
#define FLAGS_BUT_ARITHMETIC_IF_AND_RF ~0x10ed7

// Two bytes of the Vcpu each.
#define CPL_0_AND_GS_EXCHANGED 0xff00
#define INTERRUPT_FLAG_AND_CPL_3 0x0301

	.pushsection .rodata
	.balign 8
lower_half_end: .quad 1 << 47
	.popsection

	// A program may have AC set: each access is aligned.
	.macro note_system_call
	movb $0, VCPU(CPL)
	movb $0xff, VCPU(GS_EXCHANGED)
	movq $0, VCPU(SYSTEM_FLAGS)
	movq $SELECTOR_GUEST_CODE, VCPU(CS)
	movq $SELECTOR_GUEST_STACK, VCPU(SS)
	incq counters + COUNTERS_SYSTEM_CALLS
	.endm

	// RCX and R11 are the guest's, its interrupts are disabled.
	.macro check_system_return otherwise
	cmpb $0, quick_system_calls
	je \otherwise
	cmpb $0, PENDING
	jne \otherwise
	cmpw $CPL_0_AND_GS_EXCHANGED, VCPU(CPL)
	jne \otherwise
	testq $FLAGS_BUT_ARITHMETIC_AND_IF, %r11
	jnz \otherwise
	btl $FLAG_IF_BIT, %r11d
	jnc \otherwise
	cmpq %rcx, lower_half_end
	jbe \otherwise
	.endm

	.macro note_system_return
	movw $INTERRUPT_FLAG_AND_CPL_3, VCPU(INTERRUPT_FLAG)
	movq $0, VCPU(SYSTEM_FLAGS)
	movq $SELECTOR_CODE, VCPU(CS)
	movq $SELECTOR_STACK, VCPU(SS)
	movq $0, VCPU(KERNEL_SELECTORS)
	movl $0, VCPU(KERNEL_SELECTORS) + 8
	incq counters + COUNTERS_USER_RETURNS
	.endm
