/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 82
 *
 * Annotated accesses where there is no device: to RAM they are loads and stores, and where the page tables do
 * not allow them they fault, at their own address, however often. As in Linux, there is a directory for the
 * last 2 MiB, where a VMM may want to be.
 *
 * Left out: accesses to addresses that neither RAM nor a device claims, which each machine answers as it
 * likes.
 */
#include "harness/annotated_ram.h"
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/exceptions.h"
#include "harness/paging.h"
#include "harness/registers.h"

#include <previrt/annotate.h>

static const uintptr_t area = 0x50000000;
static const uintptr_t last_directory = 0xffffffffffe00000;
static uint64_t ram[2 * page_size / sizeof(uint64_t)] __attribute__((aligned(4096)));

/* What a read leaves in a register that held ones. */
#define READ_INTO(name, width, suffix)                                                                       \
    ({                                                                                                       \
        register uint64_t value asm(name) = UINT64_MAX;                                                      \
        asm volatile("previrt_site mmio_read, " #width ", 0, mov (%[where]), %" suffix "[value]"             \
                     : [value] "+r"(value)                                                                   \
                     : [where] "r"(ram)                                                                      \
                     : "memory");                                                                            \
        value;                                                                                               \
    })

#define CHECK_REGISTER(name)                                                                                 \
    check_equal(name ", 8 bits", READ_INTO(name, 1, "b"), 0xffffffffffffff78);                               \
    check_equal(name ", 16 bits", READ_INTO(name, 2, "w"), 0xffffffffffff5678);                              \
    check_equal(name ", 32 bits", READ_INTO(name, 4, "k"), 0x12345678);                                      \
    check_equal(name ", 64 bits", READ_INTO(name, 8, "q"), 0x9abcdef012345678)

static void check_registers(void) {
    ram[0] = 0x9abcdef012345678;
    CHECK_REGISTER("rax");
    CHECK_REGISTER("rcx");
    CHECK_REGISTER("rdx");
    CHECK_REGISTER("rbx");
    CHECK_REGISTER("rsi");
    CHECK_REGISTER("rdi");
    CHECK_REGISTER("r8");
    CHECK_REGISTER("r9");
    CHECK_REGISTER("r10");
    CHECK_REGISTER("r11");
    CHECK_REGISTER("r12");
    CHECK_REGISTER("r13");
    CHECK_REGISTER("r14");
    CHECK_REGISTER("r15");
}

static struct exception read_at(uintptr_t address) {
    return exception_of("previrt_site mmio_read, 4, 0, mov (%[where]), %%eax", [where] "r"(address) : "rax",
                        "memory");
}

static struct exception write_at(uintptr_t address) {
    return exception_of("previrt_site mmio_write, 4, 0, mov %[value], (%[where])", [where] "r"(address),
                        [value] "r"(0x600df00d) : "memory");
}

static void check_faults(void) {
    write_cr0(read_cr0() | cr0_write_protect);
    for (int i = 0; i < 2; ++i) {
        struct exception exception = read_at(area);
        check_exception("absent: a read", &exception, vector_page_fault, 0, at_instruction);
        check_equal("CR2", exception.cr2, area);
        exception = write_at(area + 8);
        check_exception("absent: a write", &exception, vector_page_fault, 2, at_instruction);
        check_equal("CR2", exception.cr2, area + 8);
        exception = read_at(UINT64_C(1) << 50U);
        check_exception("no address: a read", &exception, vector_protection, 0, at_instruction);
    }
    ram[0] = 0;
    map_page(area, (uintptr_t)ram, page_present);
    struct exception exception = read_at(area);
    check_equal("read-only: a read", exception.frame.vector, no_exception);
    exception = write_at(area);
    check_exception("read-only: a write", &exception, vector_page_fault, 3, at_instruction);
    check_equal("nothing is written", ram[0], 0);
    map_page(area, (uintptr_t)ram, page_present | page_writable);
    flush_page(area);
    exception = write_at(area);
    check_equal("writable: a write", exception.frame.vector, no_exception);
    check_equal("it is written", ram[0], 0x600df00d);
    exception = write_at(area + page_size - 2);
    check_exception("half of it absent: a write", &exception, vector_page_fault, 2, at_instruction);
    check_equal("CR2", exception.cr2, area + page_size);
    check_equal("nothing is written", ram[page_size / sizeof(uint64_t) - 1], 0);
}

void guest(void) {
    load_descriptor_tables();
    load_page_tables();
    (void)page_entry(last_directory, 2);
    write_msr(msr_efer, read_msr(msr_efer) | efer_no_execute_enable);
    check_annotated_ram(ram);
    check_registers();
    check_faults();
}
