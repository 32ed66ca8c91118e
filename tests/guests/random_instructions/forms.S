/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The instructions that random_instructions.c executes. Each form is here twice: in the kernel's text, assembled with the
 * macros and therefore recorded, and in section .user without a record, for user mode and for the kernel's own traps.
 */
#define KIND(name, properties) define_kind name;
	.set kinds, 0
	.macro define_kind name
	.set kind_\name, kinds
	.set kinds, kinds + 1
	.endm
#include "kinds.h"

	.section .rodata.forms, "a"
	.globl forms, forms_end
	.balign 8
forms:
	.subsection kinds + 1
forms_end:

	/* As enum shape and addressing[] of random_instructions.c. */
	.set plain, 0
	.set selectors, 1
	.set selector_in_memory, 2
	.set table_in_memory, 3
	.set far_pointer, 4
	.set interrupt_frame, 5
	.set far_frame, 6
	.set model_register, 7
	.set control_values, 8
	.set debug_values, 9
	.set port, 10
	.set string, 11
	.set flags_on_stack, 12
	.set bases, 13
	.set table_entry, 14
	.set device, 15
	.set selector_on_stack, 16
	.set system_return, 17
	.set halt, 18
	.set status_word, 19
	.set ordinary_memory, 20
	.set interrupt_number, 21

	.macro describe kind, shape, operand, memory, text:vararg
	.pushsection .rodata
7910:	.asciz "\text"
	.balign 8
	.popsection
	.pushsection .rodata.forms, "a"
	.subsection kind_\kind + 1	/* the table is in the order of kinds */
	.quad 7910b, 7900b, 7901b, 7902b, 7903b
	.byte kind_\kind, \shape, \operand, \memory
	.balign 8
	.popsection
	.endm

	.macro form kind, shape, operand, memory, instruction:vararg
	.text
7900:	\instruction
7901:	nop
	nop
	jmp case_end
	.section .user, "aw"
7902:	{nooptimize} \instruction
7903:	nop
	nop
	int3
	describe \kind, \shape, \operand, \memory, \instruction
	.endm

	/* Two instructions, so that the first one's interrupt shadow covers the second. */
	.macro pair kind, shape, operand, memory, first, second
	.text
7900:	\first
	\second
7901:	nop
	nop
	jmp case_end
	.section .user, "aw"
7902:	{nooptimize} \first
	{nooptimize} \second
7903:	nop
	nop
	int3
	describe \kind, \shape, \operand, \memory, \first then \second
	.endm

	/* `instruction` has a record of this kind. */
	.macro annotated kind, width, shape, operand, memory, instruction:vararg
	.text
7900:	previrt_site \kind, \width, 1, \instruction
7901:	nop
	nop
	jmp case_end
	.section .user, "aw"
7902:	\instruction
7903:	nop
	nop
	int3
	describe \kind, \shape, \operand, \memory, \instruction
	.endm

	.macro device_form kind, width, instruction:vararg
	.text
7900:	previrt_site \kind, \width, 0, \instruction
7901:	nop
	nop
	jmp case_end
	.section .user, "aw"
7902:	\instruction
7903:	nop
	nop
	int3
	describe \kind, device, \width, 1, \instruction
	.endm

	.macro memory_forms kind, shape, operand, before, after
	form \kind, \shape, \operand, 1, \before (%rbx)\after
	form \kind, \shape, \operand, 2, \before 0x40(%rsi)\after
	form \kind, \shape, \operand, 3, \before -8(%r13,%r9,4)\after
	form \kind, \shape, \operand, 4, \before 0x12345(%r8)\after
	form \kind, \shape, \operand, 5, \before (%rsp)\after
	form \kind, \shape, \operand, 6, \before fixed_operand(%rip)\after
	form \kind, \shape, \operand, 7, \before fixed_operand\after
	form \kind, \shape, \operand, 8, \before (%ebx)\after
	form \kind, \shape, \operand, 9, \before %gs:0x10(%rdi)\after
	form \kind, \shape, \operand, 10, \before (%r12)\after
	form \kind, \shape, \operand, 11, \before %fs:(%r14)\after
	form \kind, \shape, \operand, 12, \before 1(%rbp,%rdx)\after
	.endm

	/* ---- flags */
	form cli, plain, 0, 0, cli
	form sti, plain, 0, 0, sti
	pair sti, plain, 0, 0, sti, sti
	pair sti, plain, 0, 0, sti, cli
	pair interrupt_shadow, plain, 0, 0, sti, pushfq
	pair sti, plain, 0, 0, cli, sti
	form pushf, plain, 0, 0, pushfq
	form pushf, plain, 0, 0, pushfw
	form popf, flags_on_stack, 8, 0, popfq
	form popf, flags_on_stack, 2, 0, popfw
	pair interrupt_shadow, flags_on_stack, 8, 0, popfq, pushfq
	form iret, interrupt_frame, 8, 0, iretq
	form iret, interrupt_frame, 4, 0, iretl
	pair hlt, halt, 0, 0, sti, hlt
	.irp number, 0x60, 0x61, 0x62, 0x63, 0x64, 0x30, 4, 0xff, 0x80
	form int_n, interrupt_number, \number, 0, int $\number
	.endr
	form stac, plain, 0, 0, stac
	form clac, plain, 0, 0, clac

	/* ---- ports */
	form in, port, 1, 0, inb %dx, %al
	form in, port, 2, 0, inw %dx, %ax
	form in, port, 4, 0, inl %dx, %eax
	form in, port, 1, 0, inb $0x21, %al
	form in, port, 2, 0, inw $0xe4, %ax
	form in, port, 4, 0, inl $0xe4, %eax
	form out, port, 1, 0, outb %al, %dx
	form out, port, 2, 0, outw %ax, %dx
	form out, port, 4, 0, outl %eax, %dx
	form out, port, 1, 0, outb %al, $0x80
	form out, port, 2, 0, outw %ax, $0xe4
	form out, port, 4, 0, outl %eax, $0xe4
	form ins, string, 1, 13, insb
	form ins, string, 2, 13, insw
	form ins, string, 4, 13, insl
	form ins, string, 1, 13, rep insb
	form ins, string, 2, 13, rep insw
	form ins, string, 4, 13, rep insl
	form outs, string, 1, 14, outsb
	form outs, string, 2, 14, outsw
	form outs, string, 4, 14, outsl
	form outs, string, 1, 14, rep outsb
	form outs, string, 2, 14, rep outsw
	form outs, string, 4, 14, rep outsl

	/* ---- control, debug and segment registers */
	.irp to, rax, rbx, rsi, r8, r15
	form mov_from_control, plain, 0, 0, mov %cr0, %\to
	form mov_from_control, plain, 0, 0, mov %cr2, %\to
	form mov_from_control, plain, 0, 0, mov %cr3, %\to
	form mov_from_control, plain, 0, 0, mov %cr4, %\to
	form mov_from_control, plain, 0, 0, mov %cr8, %\to
	form mov_to_control, control_values, 0, 0, mov %\to, %cr0
	form mov_to_control, control_values, 2, 0, mov %\to, %cr2
	form mov_to_control, control_values, 3, 0, mov %\to, %cr3
	form mov_to_control, control_values, 4, 0, mov %\to, %cr4
	form mov_to_control, control_values, 8, 0, mov %\to, %cr8
	.irp number, 0, 1, 2, 3, 6, 7
	form mov_from_debug, plain, 0, 0, mov %dr\number, %\to
	form mov_to_debug, debug_values, \number, 0, mov %\to, %dr\number
	.endr
	.endr
	form clts, plain, 0, 0, clts
	form lmsw, status_word, 0, 0, lmsw %ax
	form lmsw, status_word, 0, 0, lmsw %r9w
	memory_forms lmsw, status_word, 0, lmsw
	.irp to, ax, eax, rax, bx, ebx, rbx, r9w, r9d, r9
	form smsw, plain, 0, 0, smsw %\to
	form sldt, plain, 0, 0, sldt %\to
	form str, plain, 0, 0, str %\to
	.endr
	memory_forms smsw, ordinary_memory, 2, smsw
	memory_forms sldt, ordinary_memory, 2, sldt
	memory_forms str, ordinary_memory, 2, str
	.irp segment, cs, ss, ds, es, fs, gs
	.irp to, ax, ecx, rdx, r10w, r11d, r12, ebp
	form mov_from_segment, plain, 0, 0, mov %\segment, %\to
	.endr
	memory_forms mov_from_segment, ordinary_memory, 2, "mov %\segment, "
	.endr
	.irp segment, ds, es, fs, gs, ss
	.irp from, eax, ecx, r9d, r15d, bp
	form mov_to_segment, selectors, 0, 0, mov %\from, %\segment
	.endr
	memory_forms mov_to_segment, selector_in_memory, 0, "mov ", ", %\segment"
	.endr
	pair interrupt_shadow, selectors, 0, 0, "mov %eax, %ss", cli
	pair interrupt_shadow, selectors, 0, 0, "mov %eax, %ss", pushfq
	form push_segment, plain, 0, 0, push %fs
	form push_segment, plain, 0, 0, push %gs
	form push_segment, plain, 0, 0, pushw %fs
	form push_segment, plain, 0, 0, pushw %gs
	form pop_segment, selector_on_stack, 8, 0, pop %fs
	form pop_segment, selector_on_stack, 8, 0, pop %gs
	form pop_segment, selector_on_stack, 2, 0, popw %fs
	form pop_segment, selector_on_stack, 2, 0, popw %gs
	.irp segment, ss, fs, gs
	memory_forms load_far_pointer, far_pointer, 2, "l\segment", ", %ax"
	memory_forms load_far_pointer, far_pointer, 4, "l\segment", ", %ecx"
	memory_forms load_far_pointer, far_pointer, 4, "l\segment", ", %r10d"
	.endr

	/* ---- descriptor tables */
	memory_forms lgdt, table_in_memory, 0, lgdt
	memory_forms lidt, table_in_memory, 1, lidt
	memory_forms sgdt, ordinary_memory, 10, sgdt
	memory_forms sidt, ordinary_memory, 10, sidt
	.irp from, ax, bx, r9w, r15w
	form lldt, selectors, 1, 0, lldt %\from
	form ltr, selectors, 1, 0, ltr %\from
	form verr, selectors, 0, 0, verr %\from
	form verw, selectors, 0, 0, verw %\from
	.endr
	memory_forms lldt, selector_in_memory, 1, lldt
	memory_forms ltr, selector_in_memory, 1, ltr
	memory_forms verr, selector_in_memory, 0, verr
	memory_forms verw, selector_in_memory, 0, verw
	form lar, selectors, 0, 0, lar %cx, %dx
	form lar, selectors, 0, 0, lar %ecx, %edx
	form lar, selectors, 0, 0, lar %r9d, %r9d
	form lar, selectors, 0, 0, lar %rax, %r15
	form lsl, selectors, 0, 0, lsl %cx, %dx
	form lsl, selectors, 0, 0, lsl %ecx, %edx
	form lsl, selectors, 0, 0, lsl %r9d, %r9d
	form lsl, selectors, 0, 0, lsl %rax, %r15
	memory_forms lar, selector_in_memory, 0, lar, ", %edx"
	memory_forms lsl, selector_in_memory, 0, lsl, ", %r9"

	/* ---- bases */
	form swapgs, plain, 0, 0, swapgs
	.irp to, eax, rax, ebx, r9, r14d, rsi
	form rdfsbase, plain, 0, 0, rdfsbase %\to
	form rdgsbase, plain, 0, 0, rdgsbase %\to
	form wrfsbase, bases, 0, 0, wrfsbase %\to
	form wrgsbase, bases, 0, 0, wrgsbase %\to
	.endr

	/* ---- far transfers */
	memory_forms ljmp, far_pointer, 4, "ljmpl *"
	memory_forms lcall, far_pointer, 4, "lcalll *"
	form lret, far_frame, 8, 0, lretq
	form lret, far_frame, 4, 0, lretl
	form lret, far_frame, 8, 0, lretq $24
	form lret, far_frame, 4, 0, lretl $24
	form sysret, system_return, 8, 0, sysretq
	form sysret, system_return, 4, 0, sysretl
	form rsm, plain, 0, 0, rsm

	/* ---- model-specific registers, extended state, translation, caches */
	form rdmsr, model_register, 0, 0, rdmsr
	form wrmsr, model_register, 1, 0, wrmsr
	form xgetbv, plain, 0, 0, xgetbv
	form xsetbv, plain, 0, 0, xsetbv
	memory_forms invlpg, ordinary_memory, 0, invlpg
	memory_forms invpcid, ordinary_memory, 16, invpcid, ", %rcx"
	form invd, plain, 0, 0, invd
	form wbinvd, plain, 0, 0, wbinvd
	form wbnoinvd, plain, 0, 0, wbnoinvd

	/* ---- page tables */
	.macro table_forms address, memory
	annotated page_table_write, 8, table_entry, 1, \memory, movq %rax, \address
	annotated page_table_write, 8, table_entry, 1, \memory, movq %r15, \address
	annotated page_table_exchange, 8, table_entry, 1, \memory, xchgq %rcx, \address
	annotated page_table_exchange, 8, table_entry, 1, \memory, xchgq %r10, \address
	annotated page_table_compare_exchange, 8, table_entry, 2, \memory, lock cmpxchgq %rcx, \address
	annotated page_table_compare_exchange, 8, table_entry, 2, \memory, lock cmpxchgq %r11, \address
	.irp bit, 0, 1, 5, 6, 63
	annotated page_table_test_and_clear_bit, 8, table_entry, 0, \memory, lock btrq $\bit, \address
	annotated page_table_clear_bit, 8, table_entry, 0, \memory, lock btrq $\bit, \address
	.endr
	.endm
	table_forms (%rbx), 1
	table_forms 0x40(%rsi), 2
	table_forms "-8(%r13,%r9,4)", 3
	table_forms (%r12), 10
	.macro table_arithmetic instruction:vararg
	form page_table_arithmetic, table_entry, 1, 1, \instruction
	.endm
	table_arithmetic xorq %rcx, (%rbx)
	table_arithmetic orq %rax, (%rbx)
	table_arithmetic andq %r10, (%rbx)
	table_arithmetic lock orq $2, (%rbx)
	table_arithmetic lock andq $-2, (%rbx)
	table_arithmetic lock btsq $1, (%rbx)
	table_arithmetic lock xaddq %rdx, (%rbx)
	table_arithmetic movb %al, (%rbx)
	table_arithmetic movw %cx, 1(%rbx)
	table_arithmetic movl %edx, (%rbx)
	table_arithmetic movq $0, (%rbx)
	table_arithmetic cmpxchgq %r9, (%rbx)
	table_arithmetic movnti %rdx, (%rbx)

	/* ---- registers of the local APIC, 32 bits at a time */
	device_form mmio_read, 4, movl (%rbx), %eax
	device_form mmio_read, 4, movl (%rbx), %r9d
	device_form mmio_read, 4, movl (%rbx), %ebx
	device_form mmio_write, 4, movl %eax, (%rbx)
	device_form mmio_write, 4, movl %r15d, (%rbx)
	.macro device_arithmetic instruction:vararg
	form mmio_arithmetic, device, 4, 1, \instruction
	.endm
	.irp mnemonic, add, or, adc, sbb, and, sub, xor, cmp
	device_arithmetic \mnemonic\()l %ecx, (%rbx)
	device_arithmetic \mnemonic\()l (%rbx), %r9d
	device_arithmetic \mnemonic\()l $0x21, (%rbx)
	device_arithmetic \mnemonic\()l $0x12345678, (%rbx)
	.endr
	device_arithmetic testl %ecx, (%rbx)
	device_arithmetic testl $0x12345678, (%rbx)
	device_arithmetic xchgl %ecx, (%rbx)
	device_arithmetic movl $0x21, (%rbx)
	device_arithmetic movl (%rbx), %ecx
	device_arithmetic movl %r11d, (%rbx)
	device_arithmetic movslq (%rbx), %rdx
	.text
	.section .note.GNU-stack, "", @progbits
