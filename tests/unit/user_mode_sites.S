/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Sensitive instructions that user mode may execute, assembled with previrt's macros (PADDED is
 * defined, the functions are called padded_x) and without (plain_x). execution_test.cpp compares what they do.
 *
 * void f(struct Registers* r): loads rax, rcx, rdx, rbx from *r, sets the flags, runs the instruction, stores both back.
 * A memory operand is scratch(%rdi).
 */
#ifdef PADDED
#define FUNCTION(name) padded_##name
#define ANNOTATE previrt_site
#else
#define FUNCTION(name) plain_##name
#define ANNOTATE annotated_site
.macro annotated_site kind, width, tag, insn:vararg
	\insn
.endm
#endif
	.text
	.set scratch, 48

.macro prologue name
	.globl \name
	.type \name, @function
\name:
	push %rbx
	push %rdi
	mov 0(%rdi), %rax
	mov 8(%rdi), %rcx
	mov 16(%rdi), %rdx
	mov 24(%rdi), %rbx
	test %rax, %rax
.endm

.macro epilogue name
	mov (%rsp), %rdi
	mov %rax, 0(%rdi)
	mov %rcx, 8(%rdi)
	mov %rdx, 16(%rdi)
	mov %rbx, 24(%rdi)
	setc 32(%rdi)
	setz 33(%rdi)
	sets 34(%rdi)
	seto 35(%rdi)
	setp 36(%rdi)
	pop %rdi
	pop %rbx
	ret
	.size \name, . - \name
.endm

	prologue FUNCTION(pushf_popf)
	cmp %rcx, %rax
	pushfq
	xor %edx, %edx
	popfq
	epilogue FUNCTION(pushf_popf)

	prologue FUNCTION(pushf_pop)
	cmp %rcx, %rax
	pushfq
	pop %rdx
	epilogue FUNCTION(pushf_pop)

	prologue FUNCTION(cpuid)
	cpuid
	epilogue FUNCTION(cpuid)

	prologue FUNCTION(mov_from_segment)
	mov %cs, %eax
	mov %ds, %ecx
	mov %ss, %rdx
	mov %gs, scratch(%rdi)
	epilogue FUNCTION(mov_from_segment)

	prologue FUNCTION(mov_to_segment)
	mov %ds, %eax
	mov %eax, %ds
	mov %es, scratch(%rdi)
	mov scratch(%rdi), %es
	epilogue FUNCTION(mov_to_segment)

	prologue FUNCTION(push_pop_segment)
	push %fs
	pop %rax
	push %rax
	pop %gs
	epilogue FUNCTION(push_pop_segment)

	prologue FUNCTION(sldt)
	sldt %eax
	sldt scratch(%rdi)
	epilogue FUNCTION(sldt)

	prologue FUNCTION(str)
	str %eax
	str scratch(%rdi)
	epilogue FUNCTION(str)

	prologue FUNCTION(smsw)
	smsw %eax
	smsw scratch(%rdi)
	epilogue FUNCTION(smsw)

	prologue FUNCTION(sgdt)
	sgdt scratch(%rdi)
	epilogue FUNCTION(sgdt)

	prologue FUNCTION(sidt)
	sidt scratch(%rdi)
	epilogue FUNCTION(sidt)

	prologue FUNCTION(lar)
	mov %cs, %ecx
	lar %ecx, %edx
	epilogue FUNCTION(lar)

	prologue FUNCTION(lsl)
	mov %ss, %ecx
	lsl %ecx, %edx
	epilogue FUNCTION(lsl)

	prologue FUNCTION(verr)
	mov %ss, %ecx
	verr %cx
	epilogue FUNCTION(verr)

	prologue FUNCTION(verw)
	mov %cs, scratch(%rdi)
	verw scratch(%rdi)
	epilogue FUNCTION(verw)

	prologue FUNCTION(rdfsbase)
	rdfsbase %rax
	epilogue FUNCTION(rdfsbase)

	prologue FUNCTION(xgetbv)
	xor %ecx, %ecx
	xgetbv
	epilogue FUNCTION(xgetbv)

	/* Counters differ from call to call: only what does not may be left in the registers. */
	prologue FUNCTION(rdtsc)
	rdtsc
	mov %rax, %rbx
	shl $32, %rdx
	or %rdx, %rbx
	rdtsc
	shl $32, %rdx
	or %rdx, %rax
	cmp %rbx, %rax
	mov $0, %eax
	mov $0, %edx
	mov $0, %ebx
	setae %al
	cmp %eax, %eax
	epilogue FUNCTION(rdtsc)

	prologue FUNCTION(annotated)
	lea scratch(%rdi), %rdx
	ANNOTATE mmio_write, 4, 1, movl %eax, (%rdx)
	ANNOTATE mmio_read, 4, 1, movl (%rdx), %ecx
	ANNOTATE page_table_write, 8, 1, movq %rbx, (%rdx)
	ANNOTATE page_table_exchange, 8, 1, xchgq %rax, (%rdx)
	ANNOTATE page_table_test_and_clear_bit, 8, 1, lock btrq $1, (%rdx)
	ANNOTATE layout_constant, 8, 1, movabs $0x7ffffffff000, %rbx
	mov $0, %edx
	epilogue FUNCTION(annotated)

	.section .note.GNU-stack,"",@progbits
