/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A further processor begins here, in a copy at 0x8000, in real-address mode with CS 0x800. As in start.S, 16-bit
 * and 32-bit code stands in a section that is not executable by its flags.
 */
	.set code_segment, 0x10
	.set data_segment, 0x18
	.set efer, 0xc0000080
	.set trampoline_at, 0x8000

	.section .trampoline, "aw"
	.code16
	.globl processor_trampoline
processor_trampoline:
	cli
	cld
	mov %cs, %ax
	mov %ax, %ds
	lgdtl gdt_pointer - processor_trampoline
	mov $1, %ax
	lmsw %ax			/* PE */
	ljmpl $8, $trampoline_at + protected - processor_trampoline

	.code32
protected:
	mov $data_segment, %eax
	mov %eax, %ds
	mov %eax, %es
	mov %eax, %ss
	xor %eax, %eax
	mov %eax, %fs
	mov %eax, %gs
	mov $0x20, %eax			/* PAE */
	mov %eax, %cr4
	mov trampoline_at + processor_trampoline_root - processor_trampoline, %eax
	mov %eax, %cr3
	mov $efer, %ecx
	rdmsr
	or $0x100, %eax			/* LME */
	wrmsr
	mov $0x80000011, %eax		/* PG, ET, PE */
	mov %eax, %cr0
	ljmp $code_segment, $begin_processor

	.balign 8
descriptors:
	.quad 0, 0x00cf9b000000ffff, 0x00af9b000000ffff, 0x00cf93000000ffff
gdt_pointer:
	.word gdt_pointer - descriptors - 1
	.long trampoline_at + descriptors - processor_trampoline
	.balign 4
	.globl processor_trampoline_root
processor_trampoline_root:
	.long 0
	.globl processor_trampoline_end
processor_trampoline_end:

	.text
	.code64
	.globl begin_processor
	.type begin_processor, @function
begin_processor:			/* RSP is no stack yet, and cpuid needs none */
	mov $1, %eax
	cpuid
	shr $24, %ebx			/* the APIC ID */
	inc %ebx
	shl $13, %ebx
	lea processor_stacks(%rbx), %rsp
	xor %ebp, %ebp
	call run_processor
	.size begin_processor, . - begin_processor
	.section .note.GNU-stack, "", @progbits
