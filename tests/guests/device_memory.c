/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 52
 *
 * Registers of a device in memory, here those of the local APIC: by annotated accesses, and by the
 * instructions that compilers make of plain ones. The same accesses to RAM are loads and stores. Rights and
 * absent pages count as for RAM, and an access that faults has not reached the device.
 *
 * Left out: accesses of other widths than 32 bits, which an APIC need not answer.
 */
#include "harness/access.h"
#include "harness/annotated_ram.h"
#include "harness/apic.h"
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/paging.h"
#include "harness/registers.h"

static const uintptr_t area = 0x50000000;
static uint64_t ram[4];

static void check_annotated(void) {
    check_equal("version: integrated", read_apic(apic_version) & 0xf0, 0x10);
    check("version: a local vector for the timer and more", (read_apic(apic_version) >> 16 & 0xff) >= 3);
    check_equal("version: it cannot be written",
                (write_apic(apic_version, 0), read_apic(apic_version) & 0xf0), 0x10);
    for (uint32_t value = 0; value < 0x100; value += 0x33) {
        write_apic(apic_task_priority, value);
        check_equal("task priority", read_apic(apic_task_priority), value);
    }
    check_equal("a 32-bit read clears the upper half", ({
                    uint64_t value = UINT64_MAX;
                    asm volatile("previrt_site mmio_read, 4, 0, mov (%[where]), %k[value]"
                                 : [value] "+r"(value)
                                 : [where] "r"(apic_place + apic_task_priority));
                    value;
                }),
                0xff);
    write_apic(apic_task_priority, 0);
}

/* The task priority is `before`, then the instruction runs, with RAX as given. */
#define RUN(before, instruction, given)                                                                      \
    ({                                                                                                       \
        write_apic(apic_task_priority, before);                                                              \
        struct outcome outcome = {given, 0, 0};                                                              \
        asm volatile("xor %%edx, %%edx\n" instruction "\n pushfq\n pop %[flags]"                             \
                     : "+a"(outcome.rax), [flags] "=r"(outcome.flags)                                        \
                     : [tpr] "b"(apic_place + apic_task_priority)                                            \
                     : "rdx", "memory", "cc");                                                               \
        outcome.flags &= flag_carry | flag_zero | flag_sign | flag_overflow | flag_parity;                   \
        outcome.priority = read_apic(apic_task_priority);                                                    \
        outcome;                                                                                             \
    })
struct outcome {
    uint64_t rax, flags;
    uint32_t priority;
};

static void check_moves(void) {
    const uint64_t ones = UINT64_MAX;
    check_equal("mov to a register", RUN(0x5a, "movl (%%rbx), %%eax", ones).rax, 0x5a);
    check_equal("mov to memory", RUN(0, "movl %%eax, (%%rbx)", 0x21).priority, 0x21);
    check_equal("mov of a number", RUN(0, "movl $0x42, (%%rbx)", 0).priority, 0x42);
    check_equal("mov with an index", RUN(0x3c, "movl -0x80(%%rbx,%%rax,8), %%eax", 0x10).rax, 0x3c);
    check_equal("mov with a displacement", RUN(0x3d, "movl 0x70(%%rax), %%eax", apic_place + 0x10).rax, 0x3d);
    check_equal("movslq", RUN(0x5b, "movslq (%%rbx), %%rax", ones).rax, 0x5b);
    const struct outcome exchanged = RUN(0x11, "xchg %%eax, (%%rbx)", 0x22);
    check_equal("xchg: the register", exchanged.rax, 0x11);
    check_equal("xchg: the memory", exchanged.priority, 0x22);
    check_equal("the flags stay", RUN(0, "stc\n movl (%%rbx), %%eax", 0).flags & flag_carry, flag_carry);
}

static void check_calculations(void) {
    check_equal("and of a number", RUN(0x5a, "andl $0xf0, (%%rbx)", 0).priority, 0x50);
    check_equal("or of a register", RUN(0x50, "orl %%eax, (%%rbx)", 0x0a).priority, 0x5a);
    check_equal("xor", RUN(0x5a, "xorl $0x0f, (%%rbx)", 0).priority, 0x55);
    check_equal("lock or", RUN(0x50, "lock orl $1, (%%rbx)", 0).priority, 0x51);
    check_equal("add", RUN(0x20, "addl $0x22, (%%rbx)", 0).priority, 0x42);
    check_equal("sub, to a register", RUN(0x20, "subl (%%rbx), %%eax", 0x21).rax, 1);
    check_equal("adc", RUN(0x20, "stc\n adcl $1, (%%rbx)", 0).priority, 0x22);
    const struct outcome compared = RUN(0x30, "cmpl $0x31, (%%rbx)", 0);
    check_equal("cmp: less", compared.flags & (flag_carry | flag_zero | flag_sign), flag_carry | flag_sign);
    check_equal("cmp: nothing is written", compared.priority, 0x30);
    check_equal("cmp with a register: equal", RUN(0x30, "cmpl %%eax, (%%rbx)", 0x30).flags,
                flag_zero | flag_parity);
    check_equal("cmp of a register: greater", RUN(0x30, "cmpl (%%rbx), %%eax", 0x31).flags, 0);
    check_equal("test of a number: no bit", RUN(0x30, "testl $0x0f, (%%rbx)", 0).flags,
                flag_zero | flag_parity);
    check_equal("test of a register: a bit", RUN(0x30, "testl %%eax, (%%rbx)", 0x10).flags, 0);
}

static void check_strings(void) {
    uint32_t copy[2] = {0, 0};
    uint32_t* to = copy;
    uintptr_t from = apic_place + apic_task_priority;
    write_apic(apic_task_priority, 0x66);
    asm volatile("movsl" : "+D"(to), "+S"(from) : : "memory");
    check_equal("movs from the device", copy[0], 0x66);
    check("RSI and RDI", to == copy + 1 && from == apic_place + apic_task_priority + 4);
    to = (uint32_t*)(apic_place + apic_task_priority);
    uint64_t count = 1;
    asm volatile("rep stosl" : "+D"(to), "+c"(count) : "a"(0x77) : "memory");
    check_equal("rep stos to the device", read_apic(apic_task_priority), 0x77);
    check_equal("RCX", count, 0);
}

static void check_faults(void) {
    write_cr0(read_cr0() | cr0_write_protect);
    write_apic(apic_task_priority, 0x12);
    struct exception exception =
        exception_of("movl $1, (%[where])", [where] "r"(area + apic_task_priority) : "memory");
    check_exception("absent: a store", &exception, vector_page_fault, 2, at_instruction);
    map_page(area, apic_place, page_present);
    check_equal("another address: read", *(volatile uint32_t*)(area + apic_task_priority), 0x12);
    exception = exception_of("orl $1, (%[where])", [where] "r"(area + apic_task_priority) : "memory", "cc");
    check_exception("read-only: an or", &exception, vector_page_fault, 3, at_instruction);
    check_equal("CR2", exception.cr2, area + apic_task_priority);
    check_equal("the device has not seen it", read_apic(apic_task_priority), 0x12);
    map_page(area, apic_place, page_present | page_writable);
    flush_page(area);
    *(volatile uint32_t*)(area + apic_task_priority) = 0x23;
    check_equal("writable: it has", read_apic(apic_task_priority), 0x23);
    check("accessed and dirty",
          (*page_entry(area, 1) & (page_accessed | page_dirty)) == (page_accessed | page_dirty));
    map_page(area, (uintptr_t)ram & page_frame, page_present | page_writable);
    flush_page(area);
    *(volatile uint64_t*)(area + ((uintptr_t)ram & (page_size - 1))) = 7;
    check_equal("the address is RAM's now", ram[0], 7);
    write_apic(apic_task_priority, 0);
}

void guest(void) {
    load_descriptor_tables();
    load_page_tables();
    map_apic();
    check_annotated_ram(ram);
    check_annotated();
    check_moves();
    check_calculations();
    check_strings();
    check_faults();
}
