/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Accesses to where neither RAM nor a device is, by a guest whose page tables have room for a VMM in KVM's
 * privileged mode.
 */
#include "hostile.h"

#include "harness/paging.h"

#include <previrt/annotate.h>

static const uintptr_t nowhere = 0xd0000000;

static void let_vmm_in(void) {
    load_page_tables();
    (void)page_entry(vmm_image, 2);
    write_msr(msr_efer, read_msr(msr_efer) | efer_no_execute_enable);
    map_page(unmapped_area, nowhere, page_present | page_writable);
    print("pages are mapped\n");
}

CASE nowhere_annotated_read(void) {
    let_vmm_in();
    (void)previrt_mmio_read32(PREVIRT_DEVICE_ANY, unmapped_area + 0x10);
    print("FAIL: it went through\n");
}

CASE nowhere_annotated_write(void) {
    let_vmm_in();
    previrt_mmio_write16(PREVIRT_DEVICE_ANY, unmapped_area + 0x20, 1);
    print("FAIL: it went through\n");
}

CASE nowhere_read(void) {
    let_vmm_in();
    (void)*(volatile uint32_t*)(unmapped_area + 0x30);
    print("FAIL: it went through\n");
}

CASE nowhere_write(void) {
    let_vmm_in();
    *(volatile uint64_t*)(unmapped_area + 0x40) = 1;
    print("FAIL: it went through\n");
}

CASE nowhere_string(void) {
    let_vmm_in();
    static char copy[4 * page_size];
    uintptr_t from = unmapped_area;
    char* to = copy;
    uint64_t count = UINT64_C(1) << 40;
    asm volatile("rep movsb" : "+S"(from), "+D"(to), "+c"(count) : : "memory");
    print("FAIL: it went through\n");
}

DEFINE_GUEST
