// SPDX-License-Identifier: BSD-2-Clause
#define __ASSEMBLY__
// The first instruction, and the notes for Xen's domain builder.
#include <xen/elfnote.h>

	.equ image_address, 0xffffffffffe00000 // layout.hpp

	.macro elf_note type, kind, value:vararg
	.pushsection .note.Xen, "a", @note
	.balign 4
	.long 4, 2f - 1f, \type
	.asciz "Xen"
	.balign 4
1:	\kind \value
2:	.balign 4
	.popsection
	.endm

	elf_note XEN_ELFNOTE_GUEST_OS, .asciz, "previrt"
	elf_note XEN_ELFNOTE_XEN_VERSION, .asciz, "xen-3.0"
	elf_note XEN_ELFNOTE_LOADER, .asciz, "generic"
	elf_note XEN_ELFNOTE_VIRT_BASE, .quad, 0xffffffff80000000
	elf_note XEN_ELFNOTE_PADDR_OFFSET, .quad, 0
	elf_note XEN_ELFNOTE_ENTRY, .quad, boot_entry - (image_address - 0xffffffff80000000)
	elf_note XEN_ELFNOTE_PAE_MODE, .asciz, "yes"
	elf_note XEN_ELFNOTE_FEATURES, .asciz, "!writable_page_tables|pae_pgdir_above_4gb"
	elf_note XEN_ELFNOTE_SUPPORTED_FEATURES, .long, 0x801 // may be dom0
	elf_note XEN_ELFNOTE_MOD_START_PFN, .quad, 1

	// Runs at the address that Xen chose, not at the linked one: RSI points to start_info.
	.section .boot_entry, "ax"
	.globl boot_entry
boot_entry:
	cld
	movq %rsi, %rbx
	movq %rsi, %rdi
	call map_image
	movq $vmm_stack_top, %rsp
	movq %rbx, %rdi
	movq $xen_start, %rax
	call *%rax
	ud2

	.bss
	.balign 4096
	.globl vmm_l1, vmm_l2
vmm_l1:	.skip 4096
vmm_l2:	.skip 4096

	.section .note.GNU-stack, "", @progbits
