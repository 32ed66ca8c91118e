/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 24
 *
 * Sensitive instructions that no record names: code that the kernel makes at run time. Those that fault at
 * CPL 3 mean there what they mean elsewhere. Each is run twice, and faults of its own are reported at its
 * address.
 *
 * Left out: those that do not fault, and those that a hypervisor answers by itself where a kernel has lost
 * its ring (Xen: control registers, MSRs, CLTS, WBINVD). No VMM can see them, which is why there is an audit.
 */
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/exceptions.h"
#include "harness/paging.h"
#include "harness/ports.h"
#include "harness/registers.h"
#include "harness/uart.h"

/* The bytes of the instruction, called with RAX, RCX, RDX and RBX given. */
static uint8_t* code;

struct registers {
    uint64_t rax, rcx, rdx, rbx;
};

static struct registers run(const uint8_t* bytes, unsigned length, struct registers given) {
    for (unsigned i = 0; i < length; ++i) {
        code[i] = bytes[i];
    }
    code[length] = 0xc3;
    struct registers result = given;
    asm volatile("call *%[code]"
                 : "+a"(result.rax), "+c"(result.rcx), "+d"(result.rdx), "+b"(result.rbx)
                 : [code] "r"(code)
                 : "memory", "cc");
    return result;
}

#define RUN(given, ...)                                                                                      \
    ({                                                                                                       \
        static const uint8_t bytes_[] = {__VA_ARGS__};                                                       \
        run(bytes_, sizeof bytes_, (struct registers)given);                                                 \
    })
#define GIVEN(...) {__VA_ARGS__}

static void check_interrupt_flag(void) {
    RUN(GIVEN(0), 0xfb); /* sti */
    check_equal("sti", read_flags() & flag_interrupt, flag_interrupt);
    RUN(GIVEN(0), 0xfa); /* cli */
    check_equal("cli", read_flags() & flag_interrupt, 0);
}

static void check_ports(void) {
    RUN(GIVEN(.rax = 0x5a, .rdx = uart_scratch), 0xee); /* out %al, (%dx) */
    check_equal("out", in8(uart_scratch), 0x5a);
    const struct registers result = RUN(GIVEN(.rax = 0x1100, .rdx = uart_scratch), 0xec); /* in (%dx), %al */
    check_equal("in", result.rax, 0x115a);
    const uint8_t mask = in8(0x21);
    check_equal("in, immediate", RUN(GIVEN(0), 0xe4, 0x21).rax, mask);
    RUN(GIVEN(.rax = mask), 0xe6, 0x21);
    check_equal("out, immediate", in8(0x21), mask);
}

static void check_descriptors(void) {
    const struct table_pointer shorter = {spare_descriptors - 1, (uintptr_t)gdt};
    const struct table_pointer full = {sizeof gdt - 1, (uintptr_t)gdt};
    struct table_pointer stored;
    RUN(GIVEN(.rax = (uintptr_t)&shorter), 0x0f, 0x01, 0x10); /* lgdt (%rax) */
    asm volatile("sgdt %[stored]" : [stored] "=m"(stored));
    check_equal("lgdt", stored.limit, shorter.limit);
    RUN(GIVEN(.rax = (uintptr_t)&full), 0x0f, 0x01, 0x10);
    write_msr(msr_gs_base, 0x88);
    write_msr(msr_kernel_gs_base, 0x77);
    RUN(GIVEN(0), 0x0f, 0x01, 0xf8);
    check_equal("swapgs", read_msr(msr_gs_base), 0x77);
}

static void check_paging(void) {
    const uintptr_t area = 0x50000000;
    uint8_t* const first = allocate_page();
    uint8_t* const second = allocate_page();
    first[0] = 1;
    second[0] = 2;
    map_page(area, (uintptr_t)first, page_present);
    flush_page(area);
    check_equal("before", *(volatile uint8_t*)area, 1);
    map_page(area, (uintptr_t)second, page_present);
    RUN(GIVEN(.rax = area), 0x0f, 0x01, 0x38); /* invlpg (%rax) */
    check_equal("invlpg", *(volatile uint8_t*)area, 2);
}

static void check_fault(void) {
    static const uint8_t load_task_register[] = {0x0f, 0x00, 0xd8}; /* ltr %ax */
    for (unsigned i = 0; i < sizeof load_task_register; ++i) {
        code[i] = load_task_register[i];
    }
    const struct exception exception =
        exception_of("jmp *%[code]", [code] "r"(code), "a"(kernel_data) : "memory");
    check_exception("ltr of a data segment", &exception, vector_protection, kernel_data, elsewhere);
    check_equal("RIP", exception.frame.rip, (uintptr_t)code);
}

void guest(void) {
    load_descriptor_tables();
    load_page_tables();
    code = allocate_page();
    for (unsigned i = 0; i < 2; ++i) {
        check_interrupt_flag();
        check_ports();
        check_descriptors();
        check_paging();
        check_fault();
    }
}
