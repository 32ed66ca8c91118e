// SPDX-License-Identifier: BSD-2-Clause
// For entry.S: by these, rewritten sites call the VMM with an instruction of fixed length.

	.section .rodata
	.balign 8
	.globl general_site_pointer
general_site_pointer: .quad general_site_call
	.globl page_table_pointer
page_table_pointer: .quad page_table_call
	.globl quiet_site_pointer
quiet_site_pointer: .quad quiet_site_call
	.globl sti_pointer
sti_pointer: .quad sti_call
	.globl pushf_pointer
pushf_pointer: .quad pushf_call
	.globl popf_pointer
popf_pointer: .quad popf_call
	.globl segment_reads_pointer
segment_reads_pointer: .quad segment_reads
	.globl sti_region
sti_region: .quad sti_enabled, sti_end
