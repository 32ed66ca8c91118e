/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 42
 *
 * INS and OUTS, single and repeated, upwards and downwards, in bytes and double words. A page fault in the
 * middle leaves RCX and the pointer where it happened, and the instruction goes on from there. Words to a
 * byte-wide device become two accesses to neighbouring ports. OUTS takes its element from FS or GS where a
 * prefix says so, INS always writes to ES. An address of 32 bits makes RCX, RSI and RDI registers of 32 bits;
 * what becomes of their upper halves when ECX is 0 differs between processors and is left out.
 */
#include "harness/access.h"
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/exceptions.h"
#include "harness/paging.h"
#include "harness/ports.h"
#include "harness/registers.h"
#include "harness/uart.h"

enum { pci_address = 0xcf8, pci_select = 0x80000000U, extra = 8 };

static const uintptr_t area = 0x50000000;
static uint8_t buffer[32];

static void check_bytes(void) {
    static const char text[] = "rep outsb to the console\n";
    const char* from = text;
    uint64_t count = 3;
    uint8_t* to = buffer;
    out8(uart_scratch, 0x21);
    asm volatile("insb" : "+D"(to) : "d"(uart_scratch) : "memory");
    check_equal("insb", buffer[0], 0x21);
    buffer[1] = 0x43;
    const uint8_t* source = buffer + 1;
    asm volatile("outsb" : "+S"(source) : "d"(uart_scratch) : "memory");
    check_equal("outsb", in8(uart_scratch), 0x43);
    asm volatile("rep insb" : "+D"(to), "+c"(count) : "d"(uart_scratch) : "memory");
    check("rep insb",
          to == buffer + 4 && count == 0 && buffer[1] == 0x43 && buffer[2] == 0x43 && buffer[3] == 0x43);
    source = buffer + 3;
    buffer[1] = 1;
    count = 3;
    asm volatile("std\n rep outsb\n cld" : "+S"(source), "+c"(count) : "d"(uart_scratch) : "memory");
    check_equal("rep outsb, downwards", in8(uart_scratch), 1);
    check("RSI", source == buffer);
    to = buffer + 20;
    count = 4;
    asm volatile("std\n rep insb\n cld" : "+D"(to), "+c"(count) : "d"(uart_scratch) : "memory");
    check("rep insb, downwards", to == buffer + 16 && buffer[17] == 1 && buffer[20] == 1 && buffer[16] == 0);
    count = 0;
    asm volatile("rep outsb" : "+S"(source), "+c"(count) : "d"(uart_scratch) : "memory");
    check("rep outsb of nothing", source == buffer && in8(uart_scratch) == 1);
    /* Polled UARTs have room for one byte: each waits. */
    while (*from) {
        while (!(in8(uart_line_status) & uart_holding_empty)) {
        }
        count = 1;
        asm volatile("rep outsb" : "+S"(from), "+c"(count) : "d"(uart_data) : "memory");
    }
}

static void check_wide(void) {
    static const uint32_t selected[2] = {pci_select | 0x12340, pci_select | 0x56780};
    uint32_t read[2];
    const uint32_t* from = selected;
    uint32_t* to = read;
    uint64_t count = 2;
    asm volatile("rep outsl" : "+S"(from), "+c"(count) : "d"(pci_address) : "memory");
    check("rep outsl", from == selected + 2 && count == 0);
    count = 2;
    asm volatile("rep insl" : "+D"(to), "+c"(count) : "d"(pci_address) : "memory");
    check_equal("rep insl", read[1], selected[1]);
    check_equal("the first of them", read[0], selected[1]);

    /* DLL and DLM. */
    static const uint16_t divisor[1] = {1};
    uint16_t divisor_read[1] = {0};
    const uint16_t* word = divisor;
    uint16_t* word_read = divisor_read;
    while (!(in8(uart_line_status) & uart_transmitter_empty)) {
    }
    out8(uart_line_control, uart_divisor_latch | uart_eight_bits);
    asm volatile("outsw" : "+S"(word) : "d"(uart_data) : "memory");
    asm volatile("insw" : "+D"(word_read) : "d"(uart_data) : "memory");
    out8(uart_line_control, uart_eight_bits);
    check_equal("outsw and insw at two ports", divisor_read[0], 1);
}

static void check_fault(void) {
    uint8_t* const page = allocate_page();
    const uintptr_t end = area + page_size;
    map_page(area, (uintptr_t)page, page_present | page_writable);
    out8(uart_scratch, 0x5c);
    struct exception exception =
        exception_of("rep insb", "D"(end - 3), "c"(3 + extra), "d"(uart_scratch) : "memory");
    check_exception("rep insb into an absent page", &exception, vector_page_fault, 2, at_instruction);
    check_equal("CR2", exception.cr2, end);
    check_equal("RCX", exception.frame.rcx, extra);
    check_equal("RDI", exception.frame.rdi, end);
    check("the bytes before are there", page[page_size - 1] == 0x5c && page[page_size - 3] == 0x5c);
    exception = exception_of("rep outsb", "S"(end - 3), "c"(3 + extra), "d"(uart_scratch) : "memory");
    check_exception("rep outsb from an absent page", &exception, vector_page_fault, 0, at_instruction);
    check_equal("RCX", exception.frame.rcx, extra);
    check_equal("RSI", exception.frame.rsi, end);
    exception = exception_of("insb", "D"(end), "d"(uart_scratch) : "memory");
    check_exception("insb into an absent page", &exception, vector_page_fault, 2, at_instruction);
}

static uint8_t* second_page;

static void map_second(struct frame* frame) {
    (void)frame;
    map_page(area + page_size, (uintptr_t)second_page, page_present | page_writable);
}

static void check_resumed(void) {
    uint8_t* to = (uint8_t*)area + page_size - 4;
    uint64_t count = 4 + extra;
    second_page = allocate_page();
    handlers[vector_page_fault] = map_second;
    out8(uart_scratch, 0x6d);
    asm volatile("rep insb" : "+D"(to), "+c"(count) : "d"(uart_scratch) : "memory");
    handlers[vector_page_fault] = 0;
    check("rep insb goes on when the page is there", to == (uint8_t*)area + page_size + extra && count == 0);
    check("with every byte",
          second_page[0] == 0x6d && second_page[extra - 1] == 0x6d && second_page[extra] == 0);
}

static void check_segments(void) {
    uint8_t* const bytes = allocate_page();
    const uint64_t old_fs = read_msr(msr_fs_base);
    const uint64_t old_gs = read_msr(msr_gs_base);
    bytes[0x10] = 0x31;
    bytes[0x20] = 0x32;
    buffer[0] = 0x33;
    write_msr(msr_fs_base, (uintptr_t)bytes);
    write_msr(msr_gs_base, (uintptr_t)bytes + 0x10);
    uint64_t from = 0x10;
    asm volatile("outsb %%fs:(%%rsi), %%dx" : "+S"(from) : "d"(uart_scratch) : "memory");
    check_equal("outsb from FS", in8(uart_scratch), 0x31);
    check_equal("RSI", from, 0x11);
    from = 0x10;
    asm volatile("outsb %%gs:(%%rsi), %%dx" : "+S"(from) : "d"(uart_scratch) : "memory");
    check_equal("outsb from GS", in8(uart_scratch), 0x32);
    from = (uintptr_t)buffer;
    asm volatile("outsb %%es:(%%rsi), %%dx" : "+S"(from) : "d"(uart_scratch) : "memory");
    check_equal("outsb from ES", in8(uart_scratch), 0x33);
    uint64_t count = 0x11;
    from = 0;
    asm volatile("rep outsb %%fs:(%%rsi), %%dx" : "+S"(from), "+c"(count) : "d"(uart_scratch) : "memory");
    check_equal("rep outsb from FS", in8(uart_scratch), 0x31);
    check("RSI and RCX", from == 0x11 && count == 0);
    write_msr(msr_fs_base, 0x00007ffffffff000);
    const struct exception exception =
        exception_of("outsb %%fs:(%%rsi), %%dx", "S"(page_size), "d"(uart_scratch) : "memory");
    check_exception("outsb from FS, not canonical", &exception, vector_protection, 0, at_instruction);
    write_msr(msr_fs_base, old_fs);
    write_msr(msr_gs_base, old_gs);
}

static void check_short_addresses(void) {
    const uint64_t upper = UINT64_C(0x5555) << 32;
    uint64_t from = upper | (uintptr_t)buffer;
    uint64_t to = upper | (uintptr_t)(buffer + 4);
    uint64_t count = upper | 3;
    buffer[0] = 0x71;
    buffer[1] = 0x72;
    asm volatile("outsb (%%esi), %%dx" : "+S"(from) : "d"(uart_scratch) : "memory");
    check_equal("outsb, 32-bit address", in8(uart_scratch), 0x71);
    check("RSI has 32 bits", from == (uintptr_t)buffer + 1);
    asm volatile("rep insb %%dx, (%%edi)" : "+D"(to), "+c"(count) : "d"(uart_scratch) : "memory");
    check("rep insb, 32-bit address", buffer[4] == 0x71 && buffer[6] == 0x71 && buffer[7] != 0x71);
    check("RDI and RCX have 32 bits", to == (uintptr_t)buffer + 7 && count == 0);
    from = upper | (uintptr_t)(buffer + 1);
    count = upper | 2;
    asm volatile("std\n rep outsb (%%esi), %%dx\n cld"
                 : "+S"(from), "+c"(count)
                 : "d"(uart_scratch)
                 : "memory");
    check_equal("rep outsb, 32-bit address, downwards", in8(uart_scratch), 0x71);
    check("RSI and RCX have 32 bits", from == (uintptr_t)buffer - 1 && count == 0);

    /* ESI is added to the base behind its wrap to 0. */
    uint8_t* const low = allocate_page();
    uint8_t* const high = allocate_page();
    const uint64_t old_fs = read_msr(msr_fs_base);
    const uintptr_t last = (uintptr_t)low + 0xffffffff;
    map_page(last & ~(uintptr_t)(page_size - 1), (uintptr_t)high, page_present | page_writable);
    high[last % page_size] = 0x11;
    low[0] = 0x12;
    write_msr(msr_fs_base, (uintptr_t)low);
    from = 0xffffffff;
    count = 1;
    asm volatile("rep outsb %%fs:(%%esi), %%dx" : "+S"(from), "+c"(count) : "d"(uart_scratch) : "memory");
    check_equal("rep outsb from FS at the last 32-bit address", in8(uart_scratch), 0x11);
    check_equal("RSI wraps", from, 0);
    from = 0xffffffff;
    count = 2;
    asm volatile("rep outsb %%fs:(%%esi), %%dx" : "+S"(from), "+c"(count) : "d"(uart_scratch) : "memory");
    check_equal("and from the first behind it", in8(uart_scratch), 0x12);

    write_msr(msr_fs_base, area + page_size + page_size - 2 - 0x1000);
    const struct exception exception = exception_of("rep outsb %%fs:(%%esi), %%dx", "S"(upper | 0x1000),
                                                    "c"(upper | (2 + extra)), "d"(uart_scratch) : "memory");
    check_exception("rep outsb from FS, an absent page", &exception, vector_page_fault, 0, at_instruction);
    check_equal("CR2", exception.cr2, area + page_size + page_size);
    check_equal("RSI", exception.frame.rsi, 0x1002);
    check_equal("RCX", exception.frame.rcx, extra);
    write_msr(msr_fs_base, old_fs);
}

void guest(void) {
    load_descriptor_tables();
    load_page_tables();
    check_bytes();
    check_wide();
    check_fault();
    check_resumed();
    check_segments();
    check_short_addresses();
}
