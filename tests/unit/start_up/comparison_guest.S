/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The last 64 KiB of a PC's firmware. It runs the cases that compare_with_qemu.cpp put in front, and writes to port 0xe9
 * for each: the general registers, EFLAGS, and a sum of the memory that cases may change.
 */
	.section .rodata
	.globl comparison_guest, comparison_guest_end, comparison_guest_table, comparison_guest_count
	.globl comparison_guest_memory, comparison_guest_stubs, comparison_guest_exit_16, comparison_guest_exit_32
	.globl comparison_guest_global_table

	.set rom, 0xffff0000
	.set stack, 0x7000
	.set current, 0x6000
	.set remaining, 0x6004

	/* One segment holds a case's code, and what enters and leaves it. */
	.set segment, 0x20000
	.set stubs, 0x400
	.set copy, 0x900
	.set saved, 0xa00
	.set case_bytes, 256
	.set case_flags, 32
	.set case_mode, 36
	.set case_code, 40

	.set memory, 0x30000
	.set memory_bytes, 0x10400

	.set flat_code, 0x08
	.set flat_data, 0x10
	.set case_cs, 0x18
	.set case_ds, 0x20
	.set case_es, 0x28
	.set case_ss, 0x30
	.set case_fs, 0x38
	.set case_gs, 0x40
	.set code_16, 0x48
	.set data_16, 0x50

/* Moves change no flag. */
.macro load_general segment, from
	movl \segment:(\from), %eax
	movl \segment:(\from + 4), %ecx
	movl \segment:(\from + 8), %edx
	movl \segment:(\from + 12), %ebx
	movl \segment:(\from + 20), %ebp
	movl \segment:(\from + 24), %esi
	movl \segment:(\from + 28), %edi
.endm
.macro save_general segment, to
	movl %eax, \segment:(\to)
	movl %ecx, \segment:(\to + 4)
	movl %edx, \segment:(\to + 8)
	movl %ebx, \segment:(\to + 12)
	movl %esp, \segment:(\to + 16)
	movl %ebp, \segment:(\to + 20)
	movl %esi, \segment:(\to + 24)
	movl %edi, \segment:(\to + 28)
.endm
.macro set_segment register, value
	movw $\value, %ax
	movw %ax, \register
.endm

	.balign 16
comparison_guest:
	.code16
	cli
	lgdtl %cs:(global_table_register - comparison_guest)
	movl $0x11, %eax
	movl %eax, %cr0
	ljmpl $flat_code, $(rom + start_32 - comparison_guest)

	.code32
start_32:
	set_segment %ds, flat_data
	set_segment %es, flat_data
	set_segment %ss, flat_data
	movl $stack, %esp
	movb $0xff, %al
	outb %al, $0x21 /* no interrupt, since cases set IF */
	outb %al, $0xa1
	cld
	movl $(rom + comparison_guest_stubs - comparison_guest), %esi
	movl $(segment + stubs), %edi
	movl $(stubs_end - comparison_guest_stubs), %ecx
	rep movsb
	movl rom + comparison_guest_memory - comparison_guest, %esi
	movl $memory, %edi
	movl $(memory_bytes / 4), %ecx
	rep movsl
	movl rom + comparison_guest_table - comparison_guest, %eax
	movl %eax, current
	movl rom + comparison_guest_count - comparison_guest, %eax
	movl %eax, remaining

next_case:
	cmpl $0, remaining
	je done
	movl current, %esi
	movl $(segment + copy), %edi
	movl $(case_bytes / 4), %ecx
	rep movsl
	movl $(segment + copy + case_code), %esi
	movl $segment, %edi
	movl $((case_bytes - case_code) / 4), %ecx
	rep movsl
	cmpl $0, segment + copy + case_mode
	jne enter_32
	ljmp $code_16, $(stubs + enter_16 - comparison_guest_stubs)

enter_32:
	pushl segment + copy + case_flags
	popfl
	set_segment %es, case_es
	set_segment %fs, case_fs
	set_segment %gs, case_gs
	set_segment %ss, case_ss
	movl %cs:(segment + copy + 16), %esp
	set_segment %ds, case_ds
	load_general %cs, (segment + copy)
	ljmp $case_cs, $0

left_32:
	set_segment %ds, flat_data
	set_segment %es, flat_data
	set_segment %ss, flat_data
	movl $stack, %esp
	pushfl
	popl segment + saved + 32
	jmp report

left_16:
	set_segment %ds, flat_data
	set_segment %es, flat_data
	set_segment %ss, flat_data
	movl $stack, %esp

report:
	cld
	movl $memory, %esi
	movl $(memory_bytes / 4), %ecx
	xorl %edx, %edx
1:	lodsl
	roll %edx
	addl %eax, %edx
	loop 1b
	movl %edx, segment + saved + 36
	movl $(segment + saved), %esi
	movl $40, %ecx
	movw $0xe9, %dx
1:	lodsb
	outb %al, %dx
	loop 1b
	addl $case_bytes, current
	decl remaining
	jmp next_case

done:
	xorl %eax, %eax
	outb %al, $0xf4
1:	hlt
	jmp 1b

/* These run in the segment of the case. */
	.balign 4
comparison_guest_stubs:
	.code16
enter_16:
	set_segment %ds, data_16
	set_segment %es, data_16
	set_segment %fs, data_16
	set_segment %gs, data_16
	set_segment %ss, data_16
	movl %cr0, %eax
	andb $0xfe, %al
	movl %eax, %cr0
	ljmpw $(segment >> 4), $(stubs + enter_real - comparison_guest_stubs)
enter_real:
	xorw %ax, %ax
	movw %ax, %ss
	movl $stack, %esp
	pushl %cs:(copy + case_flags)
	popfl
	set_segment %ds, (memory >> 4)
	set_segment %es, ((memory + 0x100) >> 4)
	set_segment %ss, ((memory + 0x200) >> 4)
	set_segment %fs, ((memory + 0x300) >> 4)
	set_segment %gs, ((memory + 0x400) >> 4)
	movl %cs:(copy + 16), %esp
	load_general %cs, copy
	ljmpw $(segment >> 4), $0

comparison_guest_exit_16:
	save_general %cs, saved
	movw $0, %ax
	movw %ax, %ss
	movl $stack, %esp
	pushfl
	popl %cs:(saved + 32)
	movl %cr0, %eax
	orb $1, %al
	movl %eax, %cr0
	ljmpl $flat_code, $(rom + left_16 - comparison_guest)

	.code32
comparison_guest_exit_32:
	save_general %ds, (segment + saved - memory)
	ljmp $flat_code, $(rom + left_32 - comparison_guest)
stubs_end:

	.balign 8
comparison_guest_global_table:
	.quad 0
	.quad 0x00cf9b000000ffff
	.quad 0x00cf93000000ffff
	.quad 0x00cf9b020000ffff
	.quad 0x00cf93030000ffff
	.quad 0x00cf93030100ffff
	.quad 0x00cf93030200ffff
	.quad 0x00cf93030300ffff
	.quad 0x00cf93030400ffff
	.quad 0x00009b020000ffff
	.quad 0x000093020000ffff
global_table_register:
	.short . - comparison_guest_global_table - 1
	.long rom + comparison_guest_global_table - comparison_guest
comparison_guest_table:
	.long 0
comparison_guest_count:
	.long 0
comparison_guest_memory:
	.long 0
comparison_guest_end:
	.section .note.GNU-stack, "", @progbits
