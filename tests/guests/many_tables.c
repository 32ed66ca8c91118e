/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 8
 *
 * More page tables than a VMM that keeps copies of them has room for: one page in each of 3,000 regions of
 * 2 MiB. A page is reached whenever it is mapped, accessed and dirty bits are set by the access and by
 * nothing else, and what is taken away is away behind INVLPG. User mode reads them too.
 */
#include "harness/access.h"
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/exceptions.h"
#include "harness/paging.h"
#include "harness/registers.h"
#include "harness/user.h"

enum {
    regions = 3000,
    pages = 256,
    rights = page_present | page_writable,
    seen = page_accessed | page_dirty,
};

static const uintptr_t area = UINT64_C(0x100000000);
static const uintptr_t tables = 0x2000000;
static const uintptr_t directories = 0x1c00000;
static const uintptr_t data = 0x1800000;

static uintptr_t address_of(uint64_t region) {
    return area + region * large_page_size + region % 512 * page_size;
}

static volatile uint64_t* entry_of(uint64_t region) {
    return (volatile uint64_t*)(tables + region * page_size + region % 512 * sizeof(uint64_t));
}

/* Of one directory, whose pages are this far apart. */
asm(".pushsection .user, \"aw\"\n"
    "read_regions: mov $512, %ecx\n"
    "1:	movzbl (%rdi), %eax\n"
    "	add %eax, %ebx\n"
    "	add $0x201000, %rdi\n"
    "	dec %ecx\n"
    "	jnz 1b\n"
    "	ud2\n"
    ".popsection");
extern const char read_regions[];

static void map_all(void) {
    for (uint64_t region = 0; region < regions; ++region) {
        volatile uint64_t* const pointer = page_entry(address_of(region), 3);
        if (!(*pointer & page_present)) {
            set_entry(3, pointer, (directories + (region >> 9) * page_size) | rights | page_user);
        }
        set_entry(2, page_entry(address_of(region), 2), (tables + region * page_size) | rights | page_user);
        set_entry(1, entry_of(region), (data + region % pages * page_size) | rights | page_user);
    }
}

static void check_turn(const char* what, unsigned step) {
    unsigned wrong = 0;
    for (unsigned i = 0; i < regions; ++i) {
        const unsigned region = i * step % regions;
        wrong += read_byte(address_of(region)) != region % pages;
    }
    check_equal(what, wrong, 0);
}

void guest(void) {
    load_descriptor_tables();
    load_page_tables();
    prepare_user();
    for (unsigned page = 0; page < pages; ++page) {
        *(volatile uint8_t*)(data + page * page_size) = (uint8_t)page;
    }
    map_all();
    check_turn("read in order: wrong ones", 1);
    check_turn("read in another order: wrong ones", 1007);

    unsigned wrong = 0;
    for (unsigned region = 0; region < regions; ++region) {
        wrong += (*entry_of(region) & seen) != page_accessed;
    }
    check_equal("not accessed, or dirty", wrong, 0);

    for (unsigned region = 0; region < regions; region += 3) {
        write_byte(address_of(region) + 8 + region / pages, (uint8_t)region);
    }
    wrong = 0;
    for (unsigned region = 0; region < regions; ++region) {
        wrong += (*entry_of(region) & seen) != (region % 3 == 0 ? seen : page_accessed);
        wrong += region % 3 == 0 && read_byte(address_of(region) + 8 + region / pages) != (uint8_t)region;
    }
    check_equal("written: wrong ones", wrong, 0);

    for (unsigned region = 0; region < regions; ++region) {
        set_entry(1, entry_of(region), *entry_of(region) & ~(uint64_t)seen);
    }
    write_cr3(read_cr3());
    for (unsigned region = 0; region < regions; region += 2) {
        read_byte(address_of(region));
    }
    wrong = 0;
    for (unsigned region = 0; region < regions; ++region) {
        wrong += (*entry_of(region) & seen) != (region % 2 == 0 ? page_accessed : 0);
    }
    check_equal("bits cleared and set again: wrong ones", wrong, 0);

    for (unsigned region = 0; region < regions; region += 5) {
        set_entry(1, entry_of(region), 0);
        flush_page(address_of(region));
    }
    wrong = 0;
    for (unsigned region = 0; region < regions; ++region) {
        const struct exception exception = load(address_of(region));
        wrong += exception.frame.vector != (region % 5 == 0 ? vector_page_fault : no_exception);
    }
    check_equal("taken away: wrong ones", wrong, 0);

    map_all();
    write_cr3(read_cr3());
    wrong = 0;
    for (unsigned region = 0; region + 512 <= regions; region += 512) {
        const struct exception exception = run_user(read_regions, address_of(region));
        wrong += exception.frame.vector != vector_invalid_opcode;
        wrong += exception.frame.rbx != 2 * (pages - 1) * pages / 2;
    }
    check_equal("read by user mode: wrong directories", wrong, 0);
    check_turn("and by the kernel: wrong ones", 1);
}
