/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A guest that reports pages as free although it uses them. It loses what they held, and nothing else: page tables that are
 * lost map nothing after the next flush. The balloon's registers are at the ports where firmware leaves them, and reports
 * go by the specification's number of their queue.
 */
#include "hostile.h"

#include "harness/access.h"
#include "harness/paging.h"
#include "harness/ports.h"
#include "harness/virtio.h"

enum {
    device = 4,
    ports = 0xc100,
    reporting_queue = 4,
    entries = 8,
    flag_write = 2,
};

static struct {
    struct {
        uint64_t address;
        uint32_t bytes;
        uint16_t flags, next;
    } descriptors[entries];
    struct {
        uint16_t flags, index, ring[entries];
    } available;
    struct {
        uint16_t flags, index;
        struct {
            uint32_t head, bytes;
        } ring[entries];
    } used;
} volatile queue __attribute__((aligned(4096)));

static void out16(uint16_t port, uint16_t value) {
    asm volatile("outw %[value], %[port]" : : [value] "a"(value), [port] "d"(port) : "memory");
}

static void out32(uint16_t port, uint32_t value) {
    asm volatile("outl %[value], %[port]" : : [value] "a"(value), [port] "d"(port));
}

static void set_place(uint16_t offset, const volatile void* place) {
    out32(ports + offset, (uint32_t)(uintptr_t)place);
    out32(ports + offset + 4, 0);
}

static void start_balloon(void) {
    out32(0xcf8, 0x80000004 | device << 11);
    out16(0xcfc, 5); /* decodes its ports, masters the bus */
    out8(ports + device_status, 0);
    out8(ports + device_status, 1);
    out8(ports + device_status, 3);
    out32(ports + driver_feature_select, 0);
    out32(ports + driver_feature, 1 << 5);
    out32(ports + driver_feature_select, 1);
    out32(ports + driver_feature, 1);
    out8(ports + device_status, 11);
    check("the features are accepted", in8(ports + device_status) == 11);
    out16(ports + queue_select, reporting_queue);
    out16(ports + queue_size, entries);
    set_place(queue_desc, queue.descriptors);
    set_place(queue_driver, &queue.available);
    set_place(queue_device, &queue.used);
    out16(ports + queue_enable, 1);
    out8(ports + device_status, 15);
}

static void report(uintptr_t address, uint32_t bytes) {
    queue.descriptors[0].address = address;
    queue.descriptors[0].bytes = bytes;
    queue.descriptors[0].flags = flag_write;
    queue.available.ring[queue.available.index % entries] = 0;
    ++queue.available.index;
    out16(ports + notify, reporting_queue);
}

static uint8_t pages[3][page_size] __attribute__((aligned(4096)));

static bool holds(const uint8_t* page, uint8_t value) {
    for (unsigned i = 0; i < page_size; ++i) {
        if (*(const volatile uint8_t*)(page + i) != value) {
            return false;
        }
    }
    return true;
}

static void fill(uint8_t* page, uint8_t value) {
    for (unsigned i = 0; i < page_size; ++i) {
        *(volatile uint8_t*)(page + i) = value;
    }
}

CASE balloon_takes_used_pages(void) {
    start_balloon();
    for (unsigned i = 0; i < 3; ++i) {
        fill(pages[i], 0x5a);
    }
    report((uintptr_t)pages[1], page_size);
    check("the report was used", queue.used.index == 1);
    check("the reported page holds zeros", holds(pages[1], 0));
    check("its neighbours hold what they held", holds(pages[0], 0x5a) && holds(pages[2], 0x5a));
    fill(pages[1], 0x33);
    check("it is used again", holds(pages[1], 0x33));
}

CASE balloon_takes_a_page_table(void) {
    load_page_tables();
    start_balloon();
    fill(pages[1], 0x5a);
    map_page(unmapped_area, (uintptr_t)pages[1], page_present | page_writable);
    check("the page is mapped", read_byte(unmapped_area) == 0x5a);
    const uintptr_t table = (uintptr_t)page_entry(unmapped_area, 1) & ~(uintptr_t)(page_size - 1);
    report(table, page_size);
    check("the report was used", queue.used.index == 1);
    write_cr3(read_cr3());
    const struct exception exception =
        exception_of("movb (%[address]), %%al", [address] "r"((uint64_t)unmapped_area) : "rax", "memory");
    check_exception("a page of the lost table", &exception, vector_page_fault, 0, at_instruction);
    map_page(unmapped_area, (uintptr_t)pages[1], page_present | page_writable);
    check("it is mapped again, and holds what it held", read_byte(unmapped_area) == 0x5a);
}

CASE balloon_takes_all_tables(void) {
    load_page_tables();
    start_balloon();
    at_the_deed();
    report(read_cr3(), page_size);
    write_cr3(read_cr3());
    print("FAIL: it lives on without page tables\n");
}

CASE balloon_takes_everything(void) {
    start_balloon();
    at_the_deed();
    report(0, ram_bytes);
    print("unexpected: it lives on without its code\n");
}

DEFINE_GUEST
