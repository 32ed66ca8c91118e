// SPDX-License-Identifier: BSD-2-Clause
// For entry.S: the way back to the guest, which ends at the includer's leave_end. leave_otherwise is the
// back-end's: it may take a way of its own. The registers stay in the Vcpu, so that leave_again starts over.

	.globl enter_guest
enter_guest:
	movq $vmm_stack_top, %rsp
	call return_interrupted

leave:
	movq $vmm_stack_top, %rsp
	movb exit_disabled, %al
	movb %al, interrupts_disabled
leave_begin: // an event from here on starts over, with the guest's interrupt flag
	testb %al, %al
	jnz 1f
	cmpl $0, pending
	jne leave_again
1:	leave_otherwise
	cmpb $0, exit_needs_iret
	jne 2f
	pushq exit_frame + 16
	popfq
	restore_all
	movq VCPU(RSP), %rsp
	jmp *VCPU(RIP)
2:	pushq exit_frame + 32
	pushq VCPU(RSP)
	pushq exit_frame + 16
	pushq exit_frame + 8
	pushq VCPU(RIP)
	restore_all
leave_iret:
	iretq
