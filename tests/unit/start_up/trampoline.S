/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A trampoline of the kind that kernels copy below 1 MiB: real-address mode, a lock around the one stack, a look at CPUID in
 * a function, protected mode, paging, 64-bit mode. It is for physical address 0x9a000, which is the start-up vector 0x9a.
 */
	.section .rodata
	.globl trampoline, trampoline_end, trampoline_lock, trampoline_entry, trampoline_cr4, trampoline_efer
	.globl trampoline_root, trampoline_failed

	.set place, 0x9a000
	.set stack, 0x1000
	.set code_32, 0x08
	.set code_64, 0x10
	.set data_32, 0x18
	.set msr_misc_enable, 0x1a0
	.set msr_efer, 0xc0000080
	.set long_mode_and_no_execute, 0x20100000

#define AT(symbol) (symbol - trampoline)
#define PHYSICAL(symbol) (place + symbol - trampoline)

	.balign 16
trampoline:
	.code16
	cli
	wbinvd
	.byte 0xea
	.short AT(1f), place >> 4
1:	mov %cs, %ax
	mov %ax, %ds
	mov %ax, %es
	mov %ax, %ss
2:	lock btsl $0, AT(trampoline_lock)
	jnc 3f
	pause
	jmp 2b
3:	movl $stack, %esp
	call look_at_processor
	testl %eax, %eax
	jnz failed
	lidtl AT(no_interrupts)
	lgdtl AT(table_register)
	movw $data_32, %dx
	movl $0x50033, %eax
	movl %eax, %cr0
	ljmpl $code_32, $PHYSICAL(protected_mode)
trampoline_failed:
failed:
	hlt
	jmp failed

/* EAX is 0 if the processor has long mode and no-execute. */
look_at_processor:
	pushf
	push $0
	popf
	pushfl
	popl %eax
	movl %eax, %ebx
	xorl $0x200000, %eax
	pushl %eax
	popfl
	pushfl
	popl %eax
	cmpl %eax, %ebx
	jz unfit
	xorl %eax, %eax
	cpuid
	cmpl $1, %eax
	jb unfit
	cmpl $0x756e6547, %ebx /* of Intel: MISC_ENABLE may hide no-execute */
	jnz 1f
	movl $1, %eax
	cpuid
	andl $0x0ff00f00, %eax
	shrl $8, %eax
	cmpl $6, %eax
	jb 1f
	movl $msr_misc_enable, %ecx
	rdmsr
	btrl $2, %edx
	jnc 1f
	wrmsr
1:	movl $0x80000000, %eax
	cpuid
	cmpl $0x80000001, %eax
	jb unfit
	movl $0x80000001, %eax
	cpuid
	andl $long_mode_and_no_execute, %edx
	xorl $long_mode_and_no_execute, %edx
	jnz unfit
	popf
	xorl %eax, %eax
	ret
unfit:
	popf
	movl $1, %eax
	ret

	.code32
protected_mode:
	movl %edx, %ss
	addl $place, %esp
	movl %edx, %ds
	movl %edx, %es
	movl %edx, %fs
	movl %edx, %gs
	btl $0, PHYSICAL(trampoline_lock)
	jnc failed_32
	movl PHYSICAL(trampoline_cr4), %eax
	movl %eax, %cr4
	movl PHYSICAL(trampoline_root), %eax
	movl %eax, %cr3
	movl $msr_efer, %ecx
	rdmsr
	cmp PHYSICAL(trampoline_efer), %eax
	jne 1f
	cmp PHYSICAL(trampoline_efer) + 4, %edx
	je 2f
1:	movl PHYSICAL(trampoline_efer), %eax
	movl PHYSICAL(trampoline_efer) + 4, %edx
	wrmsr
2:	movl $0x80050033, %eax
	movl %eax, %cr0
	ljmpl $code_64, $PHYSICAL(trampoline_entry)
failed_32:
	hlt
	jmp failed_32

	.balign 16
trampoline_entry:
	.quad 0
table_register:
	.short table_end - table - 1
	.long PHYSICAL(table)
	.balign 8
table:
	.quad 0
	.quad 0x00cf9a000000ffff
	.quad 0x00af9b000000ffff
	.quad 0x00cf93000000ffff
table_end:
no_interrupts:
	.short 0
	.quad 0
	.balign 8
trampoline_efer:
	.quad 0
trampoline_cr4:
	.long 0
trampoline_root:
	.long 0
trampoline_lock:
	.long 0
trampoline_end:
	.section .note.GNU-stack, "", @progbits
