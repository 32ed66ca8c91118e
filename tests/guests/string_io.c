/* SPDX-License-Identifier: BSD-2-Clause
 *
 * INS and OUTS, single and repeated, upwards and downwards, in bytes and double words. A page fault in the
 * middle leaves RCX and the pointer where it happened, and the instruction goes on from there. Words to a
 * byte-wide device become two accesses to neighbouring ports.
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

void guest(void) {
    load_descriptor_tables();
    load_page_tables();
    check_bytes();
    check_wide();
    check_fault();
    check_resumed();
}
