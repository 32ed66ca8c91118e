/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 20
 *
 * Ports and physical memory that nobody answers. A PC's bus floats: a read of a port gives all ones, a write
 * is lost, and the guest goes on. Of an access that reaches a device in part, the other bytes float.
 *
 * What a read outside RAM gives is all ones on a PC and zeros in QEMU: only that it is one of them, and stays
 * so, is checked. Left out: instructions other than moves there, and accesses that reach a device in part, at
 * which QEMU ends.
 */
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/paging.h"
#include "harness/ports.h"
#include "harness/registers.h"

#include <previrt/annotate.h>

static const uintptr_t area = 0x50000000;

static void check_ports(void) {
    static const uint16_t ports[] = {0x1234, 0xde15, 0xffff, 0x2a0, 0x8000};
    for (unsigned i = 0; i < sizeof ports / sizeof *ports; ++i) {
        const uint16_t port = ports[i];
        uint8_t byte = 0;
        out8(port, 0x12);
        asm volatile("inb %w[port], %[value]" : [value] "=a"(byte) : [port] "d"(port));
        check_equal("a byte of nobody's", byte, 0xff);
    }
    uint64_t value = UINT64_C(0x1122334455667788);
    asm volatile("outw %%ax, %w[port]" : : "a"(0x1234), [port] "d"(0x1234));
    asm volatile("inw %w[port], %%ax" : "+a"(value) : [port] "d"(0x1234));
    check_equal("a word of nobody's", value, UINT64_C(0x112233445566ffff));
    asm volatile("outl %%eax, %w[port]" : : "a"(0x12345678), [port] "d"(0x1234));
    asm volatile("inl %w[port], %%eax" : "+a"(value) : [port] "d"(0x1234));
    check_equal("a double word of nobody's", value, 0xffffffff);

    uint8_t bytes[4] = {0};
    uint8_t* to = bytes;
    uint64_t count = sizeof bytes;
    asm volatile("rep insb" : "+D"(to), "+c"(count) : "d"(0x1234) : "memory");
    check("a string of nobody's", bytes[0] == 0xff && bytes[3] == 0xff && count == 0);
}

static void check_memory(uintptr_t physical) {
    volatile uint64_t* const hole = (volatile uint64_t*)area;
    map_page(area, physical, page_present | page_writable);
    flush_page(area);
    const uint64_t first = *hole;
    check("a read outside RAM gives zeros or ones", first == 0 || first == UINT64_MAX);
    *hole = 0x1234;
    check("a write is lost", *hole == first);
    volatile uint8_t* const byte = (volatile uint8_t*)area + 7;
    *byte = 0x56;
    check("a byte", *byte == (uint8_t)first);
    volatile uint32_t* const annotated = (volatile uint32_t*)area + 3;
    previrt_mmio_write32(PREVIRT_DEVICE_ANY, annotated, 0x789a);
    const uint32_t value = previrt_mmio_read32(PREVIRT_DEVICE_ANY, annotated);
    check("an annotated access", value == (uint32_t)first);
    uint8_t* to = (uint8_t*)area + 0x100;
    uint64_t count = 16;
    asm volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(0x11) : "memory");
    check("a string", *hole == first && count == 0);
    /* Another page in its stead. */
    uint8_t* const page = allocate_page();
    map_page(area, (uintptr_t)page, page_present | page_writable);
    flush_page(area);
    *byte = 0x56;
    check_equal("RAM at the same address", page[7], 0x56);
}

void guest(void) {
    load_descriptor_tables();
    load_page_tables();
    check_ports();
    check_memory(0xd0000000);
    check_memory(0x4000000000);
}
