/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 6
 *
 * A program makes system calls and page faults, while its kernel gives it pages, takes rights from them, and
 * changes segments of its: after each, it has all its registers, flags and vector registers, and a page that
 * it may no longer write faults. Nothing here depends on time. tests/backends/process stops this program
 * where no timer could.
 */
#include "harness/check.h"
#include "harness/console.h"
#include "harness/descriptors.h"
#include "harness/paging.h"
#include "harness/registers.h"
#include "harness/system_calls.h"
#include "harness/user.h"

enum {
    rounds = 600,
    others = 72, /* their changes are more than a VMM remembers */
    rights = page_present | page_writable | page_user,
    local_data = 4 | 3,
    access_ldt = 0x82,
    interrupt_take = 0x81, /* a gate of user mode's */
};

enum { call_nothing, call_take, call_scatter, call_segments };

/* untouched page, written page, others, page that comes late; the assembly has these addresses too */
static const uintptr_t area = 0x50000000, late = 0x50200000;
static const uintptr_t data = 0x1800000;

static unsigned stores_faulted, loads_faulted, unexpected;

uint8_t call_stack[4096] __attribute__((aligned(16)));
/* What GS names in the kernel: stack, the user's RSP. */
static struct {
    uint64_t stack, user_rsp;
} call_state = {.stack = (uintptr_t)call_stack + sizeof(call_stack)};

extern const char call_entry[];
asm("call_entry:\n"
    "	swapgs\n"
    "	mov %rsp, %gs:8\n"
    "	mov %gs:0, %rsp\n"
    "	push %rcx\n push %r11\n push %rdx\n push %rsi\n push %rdi\n push %r8\n push %r9\n push %r10\n"
    "	mov %rax, %rdi\n"
    "	call serve\n"
    "	pop %r10\n pop %r9\n pop %r8\n pop %rdi\n pop %rsi\n pop %rdx\n pop %r11\n pop %rcx\n"
    "	mov %gs:8, %rsp\n"
    "	swapgs\n"
    "	sysretq");

/* RDI: what FS:4 has. RAX is 0 if all went well, else the number of the check that did not. */
extern const char user_touch[], user_round[], user_gs[], user_words[];
asm(".pushsection .user, \"aw\"\n"
    ".balign 4096\n"
    ".set check_number, 0\n"
    ".macro good condition\n"
    "	j\\condition 9f\n"
    "	.set check_number, check_number + 1\n"
    "	mov $check_number, %eax\n"
    "	plain int $0x80\n"
    "9:\n"
    ".endm\n"
    ".macro each_register action\n"
    "	.set seed, 1\n"
    "	.irp register, rdx, rbx, rsi, rdi, r8, r9, r10, r12, r13, r14\n"
    "	\\action \\register\n"
    "	.set seed, seed + 2\n"
    "	.endr\n"
    ".endm\n"
    ".macro each_vector action\n"
    "	.irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
    "	\\action \\number\n"
    "	.endr\n"
    ".endm\n"
    ".macro set_register register\n"
    "	mov $0x1234567 * seed, %\\register\n"
    ".endm\n"
    ".macro check_register register\n"
    "	cmp $0x1234567 * seed, %\\register\n"
    "	good e\n"
    ".endm\n"
    ".macro set_vector number\n"
    "	mov $0x2345671 * (\\number + 1), %rax\n"
    "	movq %rax, %xmm\\number\n"
    ".endm\n"
    ".macro check_vector number\n"
    "	movq %xmm\\number, %rax\n"
    "	cmp $0x2345671 * (\\number + 1), %rax\n"
    "	good e\n"
    ".endm\n"
    ".macro set_flags flags\n"
    "	pushq $\\flags\n"
    "	plain popfq\n"
    ".endm\n"
    ".macro check_all flags\n"
    "	plain pushfq\n"
    "	pop %rax\n"
    "	cmp $\\flags, %rax\n"
    "	good e\n"
    "	set_flags 0x202\n"
    "	each_register check_register\n"
    "	each_vector check_vector\n"
    "	cmpq $0x5555, %gs:0\n"
    "	good e\n"
    "	mov %fs:4, %eax\n"
    "	cmp %rax, %rbp\n"
    "	good e\n"
    ".endm\n"
    /* Behind the call are instructions that a VMM may displace. The count shows that nothing runs twice. */
    ".macro call_kernel number, flags\n"
    "	incq 0x401fff00\n"
    "	set_flags \\flags\n"
    "	mov $\\number, %eax\n"
    "	syscall\n"
    "8:	mov %rdi, %rdi\n"
    "	mov %rsi, %rsi\n"
    "	mov %rax, -16(%rsp)\n"
    "	plain pushfq\n"
    "	lea 8b(%rip), %rax\n"
    "	cmp %rax, %rcx\n"
    "	good e\n"
    "	cmp $\\flags, %r11\n"
    "	good e\n"
    "	plain popfq\n"
    "	check_all \\flags\n"
    ".endm\n"
    ".macro access flags, instruction:vararg\n"
    "	set_flags \\flags\n"
    "	\\instruction\n"
    "	check_all \\flags\n"
    ".endm\n"
    "user_touch: movb $9, (%rdi)\n"
    "	plain int $0x80\n"
    "user_round:\n"
    "	mov %rdi, %rbp\n"
    "	movq $0, 0x401fff00\n"
    "	mov $0x63, %eax\n" /* spare_descriptors, level 3 */
    "	plain mov %eax, %fs\n"
    "	mov %fs:4, %eax\n"
    "	cmp %rax, %rbp\n"
    "	good e\n"
    "	mov $7, %eax\n" /* local_data */
    "	plain mov %eax, %fs\n"
    "	each_register set_register\n"
    "	each_vector set_vector\n"
    "	mov $4, %r15d\n"
    "user_repeats:\n"
    "	call_kernel 0, 0x247\n" /* ZF, PF, CF */
    "	dec %r15\n"
    "	jnz user_repeats\n"
    "	call_kernel 0, 0x240ed7\n" /* and DF, SF, OF, AF, AC, ID */
    "	call_kernel 2, 0x202\n"
    "	access 0x247, movb $9, 0x50001000\n"
    "	call_kernel 1, 0x247\n"
    "	access 0x200a93, movb $9, 0x50001000\n" /* SF, OF, AF, CF, ID */
    "	access 0x247, movb 0x50200000, %cl\n"
    "	access 0x202, movb $9, 0x50001000\n"
    "	access 0x247, plain int $0x81\n"
    "	access 0x202, movb $9, 0x50001000\n"
    "	call_kernel 3, 0x202\n"
    "	plain mov %es, %eax\n"
    "	cmp %rax, -16(%rsp)\n"
    "	good e\n"
    "	cmpq $8, 0x401fff00\n"
    "	good e\n"
    "	xor %eax, %eax\n"
    "	plain int $0x80\n"
    ".balign 8\n"
    "user_gs: .quad 0x5555\n"
    "user_words: .long 0, 0x11, 0, 0x22\n"
    ".balign 4096\n"
    ".popsection");

static void change_rights(unsigned page, uint64_t flags) {
    volatile uint64_t* const entry = page_entry(area + page * page_size, 1);
    const uint64_t kept = page_frame | page_accessed | page_dirty | page_no_execute;
    set_entry(1, entry, (*entry & kept) | flags);
    flush_page(area + page * page_size);
}

static void give(void) {
    static bool others_are_writable;
    change_rights(0, rights);
    change_rights(1, rights);
    for (unsigned page = 3; page < 2 + others; page += 2) {
        change_rights(page, others_are_writable ? rights & ~page_writable : rights);
    }
    others_are_writable = !others_are_writable;
}

/* The last change of all is of two pages, and the untouched one may be mapped nowhere. */
static void take(void) {
    change_rights(0, rights & ~page_writable);
    change_rights(1, rights & ~page_writable);
}

uint64_t serve(uint64_t number);
uint64_t serve(uint64_t number) {
    static uint16_t selector;
    switch (number) {
    case call_nothing:
        return 0;
    case call_take:
        take();
        return 0;
    case call_scatter:
        give();
        return 0;
    case call_segments:
        selector = selector ? 0 : user_data;
        write_es(selector);
        return selector;
    default:
        ++unexpected;
        return 0;
    }
}

static void set_late_page(uint64_t flags) {
    set_entry(1, page_entry(late, 1), flags == 0 ? 0 : data | flags);
    flush_page(late);
}

static void page_fault(struct frame* frame) {
    const uint64_t address = read_cr2();
    if ((frame->cs & 3) == 3 && address == area + page_size) {
        ++stores_faulted;
        give();
    } else if ((frame->cs & 3) == 3 && address == late) {
        ++loads_faulted;
        set_late_page(page_present | page_user | page_no_execute);
        take();
    } else {
        print("FAIL: a page fault at 0x%lx, for address 0x%lx\n", frame->rip, address);
        abandon_guest();
    }
}

static void take_by_interrupt(struct frame* frame) {
    (void)frame;
    take();
}

static uint64_t descriptors[1] __attribute__((aligned(4096)));

/* FS:4 is then one of two words, by a segment of the local table and by one of the global table. */
static uint64_t change_segments(unsigned round) {
    struct table_pointer table;
    const uint32_t base = (uint32_t)user_address(user_words) + (round % 2 != 0 ? 8 : 0);
    descriptors[0] = gdt[spare_descriptors / 8] = make_descriptor(base, 0xfff, 0xf3, 0x4);
    asm volatile("sgdt %[table]\n lgdt %[table]" : [table] "=m"(table) : : "memory");
    asm volatile("lldt %w[selector]" : : [selector] "r"(local_table) : "memory");
    return round % 2 != 0 ? 0x22 : 0x11;
}

static void set_up(void) {
    load_descriptor_tables();
    prepare_user();
    write_cr0(read_cr0() | cr0_write_protect);
    write_cr4(read_cr4() | cr4_fxsr);
    write_msr(msr_efer, read_msr(msr_efer) | efer_no_execute_enable);
    enable_system_calls(call_entry);
    write_msr(msr_gs_base, user_address(user_gs));
    write_msr(msr_kernel_gs_base, (uintptr_t)&call_state);
    set_system_descriptor(local_table, descriptors, sizeof descriptors - 1, access_ldt);
    handlers[vector_page_fault] = page_fault;
    handlers[interrupt_take] = take_by_interrupt;
    set_gate(interrupt_take, vector_entry(interrupt_take), interrupt_gate, 3);
    for (unsigned page = 0; page < 2 + others; ++page) {
        map_page(area + page * page_size, data + page * page_size, rights | page_no_execute);
        run_user(user_touch, area + page * page_size);
    }
    /* A VMM may replace system calls of a program that cannot write to itself. */
    for (uintptr_t address = user_address(user_round); address <= user_address(user_words);
         address += page_size) {
        volatile uint64_t* const entry = page_entry(address, 1);
        set_entry(1, entry, *entry & ~(uint64_t)page_writable);
        flush_page(address);
    }
}

void guest(void) {
    set_up();
    unsigned wrong = 0;
    unsigned others_ended = 0;
    uint64_t first_wrong = 0;
    for (unsigned round = 0; round < rounds; ++round) {
        set_late_page(0);
        const struct exception exception = run_user(user_round, change_segments(round));
        others_ended += exception.frame.vector != user_exit;
        wrong += exception.frame.rax != 0;
        first_wrong = first_wrong ? first_wrong : exception.frame.rax;
    }
    check_equal("rounds that went wrong", wrong, 0);
    check_equal("the first check of them", first_wrong, 0);
    check_equal("rounds that did not end by themselves", others_ended, 0);
    check_equal("stores that faulted", stores_faulted, 3 * rounds);
    check_equal("loads that did", loads_faulted, rounds);
    check_equal("calls that are none", unexpected, 0);
}
