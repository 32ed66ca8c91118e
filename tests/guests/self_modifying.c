/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 10
 *
 * Code that was just written runs as it was written: in a page of its own, across two pages, after it has run
 * before, written through another mapping, and copied. Between the store and the run there is a jump or, for
 * another mapping, a serializing instruction, as the manual asks for.
 */
#include "harness/access.h"
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/paging.h"
#include "harness/registers.h"

static const uintptr_t area = 0x50000000;
static const uint64_t rights = page_present | page_writable;

/* mov $value, %eax; ret */
static void write_function(volatile uint8_t* to, uint32_t value) {
    to[0] = 0xb8;
    for (unsigned i = 0; i < 4; ++i) {
        to[1 + i] = (uint8_t)(value >> 8 * i);
    }
    to[5] = 0xc3;
}

static uint32_t run(uintptr_t at) {
    uint64_t value;
    asm volatile("call *%[at]" : "=a"(value) : [at] "r"(at) : "memory", "cc");
    return (uint32_t)value;
}

static void serialize(void) {
    uint32_t eax = 0;
    asm volatile("cpuid" : "+a"(eax) : : "rbx", "rcx", "rdx", "memory");
}

static void check_repeated(const char* what, uintptr_t write_at, uintptr_t run_at) {
    bool good = true;
    for (uint32_t i = 1; i <= 100; ++i) {
        write_function((volatile uint8_t*)write_at, i * 0x01010101);
        serialize();
        good = good && run(run_at) == i * 0x01010101;
    }
    check(what, good);
}

/* A function whose own immediate is the number of its calls. */
extern uint8_t counting_function[];
asm(".pushsection .writable_code, \"awx\"\n"
    "counting_function:\n"
    "	mov $0, %eax\n"
    "	lea 1(%rax), %ecx\n"
    "	mov %ecx, counting_function + 1(%rip)\n"
    "	jmp 1f\n"
    "1:	mov %ecx, %eax\n"
    "	ret\n"
    "counting_function_end:\n"
    ".popsection");
extern const uint8_t counting_function_end[];

void guest(void) {
    load_descriptor_tables();
    load_page_tables();
    uint8_t* const pages[] = {allocate_page(), allocate_page()};
    map_page(area, (uintptr_t)pages[0], rights);
    map_page(area + page_size, (uintptr_t)pages[1], rights);
    check_repeated("in a page", area, area);
    check_repeated("in the same page by its physical address", area, (uintptr_t)pages[0]);
    check_repeated("across two pages", area + page_size - 3, area + page_size - 3);
    check_repeated("written through another mapping", (uintptr_t)pages[1] + 0x100, area + page_size + 0x100);

    bool good = true;
    for (uint32_t i = 1; i <= 100; ++i) {
        asm volatile("call counting_function" : : : "rax", "rcx", "memory", "cc");
        good = good && *(uint32_t*)(counting_function + 1) == i;
    }
    check("a function that writes its own immediate", good);
    /* Relative to its place: the copy counts on its own. */
    for (uint8_t* byte = counting_function; byte < counting_function_end; ++byte) {
        pages[0][0x200 + (byte - counting_function)] = *byte;
    }
    serialize();
    check_equal("a copy of it", run(area + 0x200), 101);
    check_equal("again", run(area + 0x200), 102);
    check_equal("the original has not run", *(uint32_t*)(counting_function + 1), 100);

    /* The same address, another frame. */
    write_function(pages[0], 0x11);
    write_function(pages[1], 0x22);
    check_equal("the first frame's code", run(area), 0x11);
    map_page(area, (uintptr_t)pages[1], rights);
    flush_page(area);
    check_equal("the second frame's, mapped there", run(area), 0x22);
}
