/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a guest could take of its host beside its memory: page tables for one page that it maps at thousands
 * of addresses, in each of its processes, and all of the host's processors.
 */
#include "hostile.h"

/* No stack: it is memory that all of them share. The VMM's text holds the loops, since only there calls are
 * the host's. EBX: how many processes to make; R13: bytes from one mapping to the next; R14: how long to
 * wait before each; R15: the number of mappings. */
extern const char bounds_loop[], bounds_loop_end[];
asm(".pushsection .rodata\n"
    "bounds_loop:\n"
    "1:	dec %ebx\n"
    "	js 2f\n"
    "	mov $56, %eax\n"
    "	mov $0x8011, %edi\n" /* beside its parent */
    "	xor %esi, %esi\n"
    "	xor %edx, %edx\n"
    "	xor %r10d, %r10d\n"
    "	xor %r8d, %r8d\n"
    "	.byte 0x0f, 0x05\n"
    "	test %eax, %eax\n"
    "	jnz 1b\n"
    "2:	mov $0x100000000, %r12\n"
    "3:	dec %r15\n"
    "	js 5f\n"
    "	mov %r14, %rcx\n"
    "4:	pause\n"
    "	dec %rcx\n"
    "	jns 4b\n"
    "	mov $9, %eax\n"
    "	mov %r12, %rdi\n"
    "	mov $0x1000, %esi\n"
    "	mov $7, %edx\n"
    "	mov $0x8011, %r10d\n" /* shared, fixed, in advance */
    "	mov $3, %r8d\n"
    "	xor %r9d, %r9d\n"
    "	.byte 0x0f, 0x05\n"
    "	add %r13, %r12\n"
    "	jmp 3b\n"
    "5:	jmp 5b\n"
    "bounds_loop_end:\n"
    ".popsection");

static void run_loop(uint32_t processes, uint64_t mappings, uint64_t wait) {
    find_gadget();
    await_reader();
    char* const at = (char*)(gadget & ~UINT64_C(0xff));
    for (const char* from = bounds_loop; from < bounds_loop_end; ++from) {
        *(volatile char*)(at + (from - bounds_loop)) = *from;
    }
    asm volatile("mov %[wait], %%r14\n"
                 "mov %[mappings], %%r15\n"
                 "mov $0x40000000, %%r13d\n"
                 "jmp *%[to]"
                 :
                 : "b"(processes), [to] "a"(at), [wait] "c"(wait), [mappings] "d"(mappings)
                 : "memory");
}

/* 8 KiB of page tables for each: 4 GiB in eight processes. */
CASE maps_in_many_processes(void) {
    run_loop(7, 64000, 0);
}
/* The same by and by. */
CASE maps_slowly_in_many_processes(void) {
    run_loop(7, 64000, 2000);
}
CASE runs_many_processes(void) {
    run_loop(14, 0, 0);
}

DEFINE_GUEST
