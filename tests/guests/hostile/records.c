/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Tables of records that are announced, as a kernel does for a module, and are wrong.
 */
#include "hostile.h"

#include "harness/paging.h"

#include <previrt/annotate.h>

/* asm-macros/include/previrt/site_record.hpp */
struct record {
    int32_t site;
    uint8_t kind, form, operand, lengths;
};

enum { kind_cli = 1, kind_sti = 2, cli_length = 8 };

/* Two sites as the assembler would leave them, and nothing that names them yet. */
static uint8_t code[64] __attribute__((aligned(64)));
static struct record records[4];

static int32_t distance(uintptr_t to, const struct record* from) {
    return (int32_t)(to - (uintptr_t)from);
}

static void prepare_records(void) {
    for (unsigned site = 0; site < 4; ++site) {
        for (unsigned i = 0; i < cli_length - 1; ++i) {
            code[site * cli_length + i] = 0x2e;
        }
        code[site * cli_length + cli_length - 1] = 0xfa;
        records[site] = (struct record){.site = distance((uintptr_t)&code[site * cli_length], &records[site]),
                                        .kind = kind_cli,
                                        .lengths = 7 << 4 | 1};
    }
    code[32] = 0xc3;
}

static void announce(uint64_t table, uint64_t bytes) {
    previrt_announce_sites(table, bytes);
}

static void announce_all(void) {
    announce((uintptr_t)records, sizeof records);
    print("went through\n");
}

CASE records_right(void) {
    prepare_records();
    announce_all();
    enable_interrupts();
    asm volatile("call *%[code]" : : [code] "r"(code) : "memory", "cc");
    check_equal("the announced cli was executed", read_flags() & flag_interrupt, 0);
}
static void end_by_exception(struct frame* frame) {
    print("exception %lu\n", frame->vector);
    end_guest();
}

/* asm-macros/site-macros.s.in */
static struct note {
    uint32_t name_bytes, description_bytes, type;
    char name[8];
    uint32_t version, record_bytes;
} note = {8, 8, 1, "previrt", 1, sizeof(struct record)};

enum { not_prepared = 1, other_version = 2, bad_records = 3, no_room = 4 };

static uint64_t announce_module(uint64_t bytes) {
    return previrt_announce_module((uintptr_t)records, bytes, (uintptr_t)&note, sizeof note);
}

/* A module that is refused stays as it was, and its kernel goes on. */
CASE module_refused(void) {
    prepare_records();
    check_equal("without a note", previrt_announce_module((uintptr_t)records, sizeof records, 0, 0),
                not_prepared);
    check_equal("with neither", previrt_announce_module(0, 0, 0, 0), not_prepared);
    note.version = 77;
    check_equal("of another version", announce_module(sizeof records), other_version);
    note.version = 1;
    records[3].kind = kind_sti;
    check_equal("with a bad record", announce_module(sizeof records), bad_records);
    records[3].kind = kind_cli;
    check_equal("with half a record", announce_module(sizeof records - 4), bad_records);
    check_equal("the code is as it was", code[0], 0x2e);
    check_equal("and its end", code[cli_length - 1], 0xfa);
    check_equal("taken in the end", announce_module(sizeof records), 0);
    check_equal("and no second time", announce_module(sizeof records), bad_records);
}
/* Other code comes where a module was, with other sites. */
CASE module_forgotten(void) {
    prepare_records();
    check_equal("taken", announce_module(sizeof records), 0);
    previrt_forget_sites(code, 32);
    prepare_records();
    for (unsigned site = 0; site < 4; ++site) {
        code[site * cli_length + cli_length - 1] = 0xfb;
        records[site].kind = kind_sti;
        records[site].lengths = 7 << 4 | 1;
    }
    check_equal("another taken", announce_module(sizeof records), 0);
    disable_interrupts();
    asm volatile("call *%[code]" : : [code] "r"(code) : "memory", "cc");
    check_equal("the sti of the other was executed", read_flags() & flag_interrupt, flag_interrupt);
}
/* Copies of what is no whole code, or where nothing can be. The last one is a copy. */
CASE copies_refused(void) {
    static uint8_t copy[64];
    const uint64_t vmm = 0xffffffffffe00100;
    const uint64_t end = ~(uint64_t)0;
    prepare_records();
    announce((uintptr_t)records, sizeof records);
    for (unsigned i = 0; i < sizeof copy; ++i) {
        copy[i] = code[i];
    }
    check_equal("from the middle of a site", previrt_copy_sites(copy, code + 1, 32), bad_records);
    check_equal("to the middle of a site", previrt_copy_sites(copy, code, 31), bad_records);
    check_equal("over itself", previrt_copy_sites(code, code, 32), bad_records);
    check_equal("partly over itself", previrt_copy_sites(code + 8, code, 32), bad_records);
    check_equal("without end", previrt_copy_sites(copy, code, end), bad_records);
    check_equal("past the end", previrt_copy_sites(copy, end - 16, 32), bad_records);
    check_equal("to past the end", previrt_copy_sites(end - 16, code, 32), bad_records);
    check_equal("to nowhere", previrt_copy_sites(unmapped_area, code, 32), bad_records);
    check_equal("to a non-canonical place", previrt_copy_sites((uint64_t)1 << 60, code, 32), bad_records);
    check_equal("into the VMM", previrt_copy_sites(vmm, code, 32), bad_records);
    check_equal("of the VMM", previrt_copy_sites(copy, vmm, 32), 0);
    check_equal("from nowhere", previrt_copy_sites(copy, unmapped_area, 32), 0);
    previrt_read_sites(unmapped_area, code, 32);
    previrt_read_sites(vmm, code, 32);
    previrt_read_sites(code, code, end);
    copy[4] = 0x90;
    check_equal("changed", previrt_copy_sites(copy, code, 32), bad_records);
    for (unsigned i = 0; i < sizeof copy; ++i) {
        copy[i] = code[i];
    }
    check_equal("taken in the end", previrt_copy_sites(copy, code, 32), 0);
    enable_interrupts();
    asm volatile("call *%[code]" : : [code] "r"(copy) : "memory", "cc");
    check_equal("the copied cli was executed", read_flags() & flag_interrupt, 0);
}
CASE module_note_unmapped(void) {
    load_page_tables();
    handlers[vector_page_fault] = end_by_exception;
    prepare_records();
    (void)previrt_announce_module((uintptr_t)records, sizeof records, unmapped_area, 28);
    print("FAIL: it went through\n");
}
CASE module_tag_unknown(void) {
    prepare_records();
    asm volatile(PREVIRT_SITE(announce_sites, "4", "nopl (%[where])")
                 :
                 : [where] "D"(records), [tag] "i"(99));
    print("FAIL: it went through\n");
}
CASE records_unknown_kind(void) {
    prepare_records();
    records[2].kind = 0xee;
    announce_all();
}
CASE records_another_kind(void) {
    prepare_records();
    records[2].kind = kind_sti;
    announce_all();
}
CASE records_reserved_form(void) {
    prepare_records();
    records[1].form = 0x80;
    announce_all();
}
CASE records_without_length(void) {
    prepare_records();
    records[1].lengths = 0;
    announce_all();
}
CASE records_too_long(void) {
    prepare_records();
    records[1].lengths = 0xff;
    announce_all();
}
CASE records_overlapping(void) {
    prepare_records();
    /* Starts at the last prefix of the first site. */
    records[1].site = distance((uintptr_t)&code[6], &records[1]);
    records[1].lengths = 1 << 4 | 1;
    announce_all();
}
CASE records_twice(void) {
    prepare_records();
    announce_all();
    announce_all();
}
CASE records_same_site(void) {
    prepare_records();
    records[1].site = distance((uintptr_t)&code[0], &records[1]);
    announce_all();
}
CASE records_outside_memory(void) {
    prepare_records();
    records[3].site = 0x7fffffff;
    announce_all();
}
CASE records_in_vmm(void) {
    load_page_tables();
    prepare_records();
    struct record* const high = (struct record*)(vmm_image - page_size);
    map_page((uintptr_t)high, (uintptr_t)allocate_page(), page_present | page_writable);
    *high = (struct record){.site = page_size + 0x100, .kind = kind_cli, .lengths = 1};
    announce((uintptr_t)high, sizeof *high);
    print("FAIL: it went through\n");
}
CASE records_odd_length(void) {
    prepare_records();
    announce((uintptr_t)records, 13);
}
CASE records_huge_length(void) {
    prepare_records();
    announce((uintptr_t)records, ~UINT64_C(7));
}
CASE records_table_unmapped(void) {
    load_page_tables();
    handlers[vector_page_fault] = end_by_exception;
    announce(unmapped_area, 64);
    print("FAIL: it went through\n");
}
CASE records_table_non_canonical(void) {
    handlers[vector_protection] = end_by_exception;
    announce(non_canonical, 64);
    print("FAIL: it went through\n");
}
CASE records_table_wraps(void) {
    handlers[vector_page_fault] = end_by_exception;
    announce(~UINT64_C(15), 64);
    print("FAIL: it went through\n");
}
/* More sites than the VMM has memory for, all of them good: table after table. */
CASE records_without_end(void) {
    enum { sites = 0x20000, tables = 32 };
    struct record* const many = (struct record*)0x1800000;
    for (uint64_t table = 0; table < tables; ++table) {
        uint8_t* const text = (uint8_t*)0x1a00000 + table * sites * cli_length;
        for (uint64_t i = 0; i < sites; ++i) {
            for (unsigned byte = 0; byte < cli_length; ++byte) {
                text[i * cli_length + byte] = byte == cli_length - 1 ? 0xfa : 0x2e;
            }
            many[i] = (struct record){.site = distance((uintptr_t)&text[i * cli_length], &many[i]),
                                      .kind = kind_cli,
                                      .lengths = 7 << 4 | 1};
        }
        announce((uintptr_t)many, sites * sizeof *many);
        print("hostile: a table went through\n");
    }
    print("FAIL: they all went through\n");
}

DEFINE_GUEST
