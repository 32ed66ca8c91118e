/* SPDX-License-Identifier: BSD-2-Clause
 *
 * How a guest begins. `start` is the 64-bit entry (README.md gives the state it may rely on). A loader that knows
 * PVH only enters `pvh_start`, which brings that state about. 32-bit code stands in a section that is not
 * executable by its flags: no paging looks at them yet, and the audit reads executable sections as 64-bit code.
 */
	.set code_segment, 0x10
	.set data_segment, 0x18
	.set efer, 0xc0000080

	.section .note.Xen, "a", @note
	.balign 4
	.long 4, 8, 18			/* XEN_ELFNOTE_PHYS32_ENTRY */
	.asciz "Xen"
	.quad pvh_start

	.section .trampoline, "aw"
	.code32
pvh_start:
	cli
	cld
	lgdt trampoline_gdt_pointer
	mov $data_segment, %eax
	mov %eax, %ds
	mov %eax, %es
	mov %eax, %ss
	xor %eax, %eax
	mov %eax, %fs
	mov %eax, %gs

	/* Present and writable; 2 MiB pages. */
	mov $0x83, %eax
	mov $page_directory, %edi
	mov $512, %ecx
1:	mov %eax, (%edi)
	add $0x200000, %eax
	add $8, %edi
	loop 1b
	movl $page_directory + 3, page_directory_pointers
	movl $page_directory_pointers + 3, page_map

	mov $0x20, %eax			/* PAE */
	mov %eax, %cr4
	mov $page_map, %eax
	mov %eax, %cr3
	mov $efer, %ecx
	rdmsr
	or $0x100, %eax			/* LME */
	wrmsr
	mov $0x80000011, %eax		/* PG, ET, PE */
	mov %eax, %cr0
	mov 24(%ebx), %eax		/* PVH's cmdline_paddr becomes Linux's cmd_line_ptr */
	mov %eax, boot_parameters + 0x228
	mov $boot_parameters, %esi
	ljmp $code_segment, $start

	.balign 8
trampoline_gdt:
	.quad 0, 0, 0x00af9b000000ffff, 0x00cf93000000ffff
trampoline_gdt_pointer:
	.word . - trampoline_gdt - 1
	.long trampoline_gdt

	.bss
	.balign 4096
page_map:
	.skip 4096
page_directory_pointers:
	.skip 4096
page_directory:
	.skip 4096
boot_parameters:
	.skip 4096
	.globl given_parameters
given_parameters:
	.skip 8
	.balign 16
stack:
	.skip 16384
stack_top:

	.text
	.code64
	.globl start
	.type start, @function
start:
	mov $stack_top, %rsp
	mov %rsi, given_parameters
	xor %ebp, %ebp
	call run_guest
	.size start, . - start
	.section .note.GNU-stack, "", @progbits
