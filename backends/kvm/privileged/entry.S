// SPDX-License-Identifier: BSD-2-Clause
// The entries into the VMM. A site calls it at level 0, on the guest's stack and in the guest's page tables;
// the monitor calls it in the VMM's own.

	.macro site_entry name, form
	.globl \name
\name:
	pushq $plain_return
	pushfq
	cli
	cld
	pushq $\form
	jmp site_access
	.endm

	.text

// Forms: SiteForm in site_frame.hpp.
	site_entry in_b, 0
	site_entry in_w, 1
	site_entry in_l, 3
	site_entry out_b, 4
	site_entry out_w, 5
	site_entry out_l, 7
	site_entry port_immediate, 8
	site_entry device_register, 16

// SiteFrame in site_frame.hpp.
site_access:
	pushq %r15
	pushq %r14
	pushq %r13
	pushq %r12
	pushq %r11
	pushq %r10
	pushq %r9
	pushq %r8
	pushq %rdi
	pushq %rsi
	pushq %rbp
	pushq %rsp
	pushq %rbx
	pushq %rdx
	pushq %rcx
	pushq %rax
	cmpb $0, several_processors
	jne take_vmm_for_site
site_has_vmm:
	movq %rsp, %rdi
	movq %rsp, guest_stack
	movq $vmm_stack_top, %rsp
	call site_accessed
	movq guest_stack, %rsp
	movl $0, vmm_lock // behind the last use of the VMM's memory
	popq %rax
	popq %rcx
	popq %rdx
	popq %rbx
	popq %rbp // RSP, which lies here
	popq %rbp
	popq %rsi
	popq %rdi
	popq %r8
	popq %r9
	popq %r10
	popq %r11
	popq %r12
	popq %r13
	popq %r14
	popq %r15
	leaq 8(%rsp), %rsp // drops the form; no flag changes
	popfq
plain_return: // or one of interrupt_stubs, which returns in the same way
	ret

// On the guest's stack, which is the processor's own. processors.hpp says why.
take_vmm_for_site:
	movl $1, %eax
	xchgl %eax, vmm_lock
	testl %eax, %eax
	je site_has_vmm
	movq %rsp, %rbp
	andq $-16, %rsp
	call wait_for_vmm
	movq %rbp, %rsp
	jmp site_has_vmm

// If the guest has interrupts enabled: the gate of the guest's IDT for the vector that the 8259s give.
	.balign 8
	.globl interrupt_stubs
interrupt_stubs:
	.set vector, 0
	.rept 256
	.byte 0xcd, vector // int $vector
	ret
	.balign 8, 0xcc
	.set vector, vector + 1
	.endr

// The monitor reads the registers; for a module and a copy, RAX is its answer.
	.macro announcement_entry name, tag
\name:
	pushq %r9
	pushq %r8
	pushq %rdx
	pushq %rax
	movq %rdx, %r8
	movl $\tag, %r9d
	movl announcement_request, %eax
	movl announcement_port, %edx
	outl %eax, %dx
	.if \tag == 1 || \tag == 3
	movq %rax, (%rsp)
	.endif
	popq %rax
	popq %rdx
	popq %r8
	popq %r9
	ret
	.endm
	announcement_entry announce_table, 0
	announcement_entry announce_module, 1
	announcement_entry announce_end, 2
	announcement_entry announce_copy, 3
	announcement_entry announce_reading, 4

	.globl question_entry
question_entry:
	call question_asked
	ud2

	.section .rodata
	.balign 8
	.globl port_pointers, port_immediate_pointer, register_pointer, announcement_pointers
port_pointers:
	.quad in_b, in_w, 0, in_l, out_b, out_w, 0, out_l
port_immediate_pointer:
	.quad port_immediate
register_pointer:
	.quad device_register
announcement_pointers:
	.quad announce_table, announce_module, announce_end, announce_copy, announce_reading

	.bss
	.balign 16
guest_stack:
	.quad 0
	.globl several_processors, vmm_lock
	.balign 64
vmm_lock:
	.long 0
several_processors:
	.byte 0
	.balign 16
	.skip 16384
vmm_stack_top:
	// A question may have to wait while a site has the other stack.
	.skip 16384
	.globl question_stack_top
question_stack_top:
	.section .note.GNU-stack, "", @progbits
