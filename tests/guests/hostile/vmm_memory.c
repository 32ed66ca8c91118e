/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The VMM's part of the address space. To user mode there is nothing; the guest's kernel is in one protection
 * domain with the VMM and may destroy it, which must harm nobody else.
 */
#include "hostile.h"

#include "harness/access.h"
#include "harness/paging.h"
#include "harness/user.h"

static const uint64_t rights = page_present | page_writable | page_user;

asm(".pushsection .user, \"aw\"\n"
    "user_read: mov (%rdi), %al\n"
    "	ud2\n"
    "user_write: movb $0, (%rdi)\n"
    "	ud2\n"
    "user_jump: jmp *%rdi\n"
    ".popsection");
extern const char user_read[], user_write[];
extern const char user_jump[];

CASE user_mode(void) {
    static const uint64_t places[] = {
        vmm_image, vmm_image + 0x5000, vmm_image + 0x1fc000,        vmm_image + 0x1fd000,
        vmm_map,   vmm_map + 0x5000,   hypervisor_area + 0x10000000};
    prepare_user();
    for (unsigned i = 0; i < sizeof places / sizeof places[0]; ++i) {
        struct exception exception = run_user(user_read, places[i]);
        check_user_exception("read", &exception, vector_page_fault, 4, user_read);
        check_equal("its CR2", exception.cr2, places[i]);
        exception = run_user(user_write, places[i]);
        check_user_exception("write", &exception, vector_page_fault, 6, user_write);
        exception = run_user(user_jump, places[i]);
        check_equal("jump", exception.frame.vector, vector_page_fault);
        check_equal("its RIP", exception.frame.rip, places[i]);
    }
}

/* Pages of the guest's own: where its kernel would reach the VMM in their place, there must be none. */
static void must_be_own(uintptr_t address, const uint8_t* own) {
    check_equal("what is read is the guest's", read_byte(address), own[0]);
    print("FAIL: it went through\n");
}

CASE user_page_over_vmm(void) {
    prepare_user();
    uint8_t* const own = allocate_page();
    own[0] = 0x77;
    map_page(vmm_image + 0x1000, (uintptr_t)own, rights);
    run_user(user_read, vmm_image + 0x1000);
    must_be_own(vmm_image + 0x1000, own);
}

CASE kernel_page_over_vmm(void) {
    load_page_tables();
    uint8_t* const own = allocate_page();
    own[0] = 0x77;
    map_page(vmm_image + 0x1000, (uintptr_t)own, page_present | page_writable);
    must_be_own(vmm_image + 0x1000, own);
}

CASE large_page_over_vmm(void) {
    load_page_tables();
    const uint8_t* const own = (const uint8_t*)0x1c00000;
    *(volatile uint8_t*)0x1c00000 = 0x77;
    set_entry(2, page_entry(vmm_image, 2), (uintptr_t)own | page_present | page_writable | page_large);
    must_be_own(vmm_image, own);
}

/* The tables are another root's, and all is there before it takes effect. */
CASE root_with_page_over_vmm(void) {
    static uint64_t root[512] __attribute__((aligned(4096)));
    load_page_tables();
    uint8_t* const own = allocate_page();
    uint64_t* below = root;
    own[0] = 0x77;
    for (unsigned i = 0; i < 256; ++i) {
        root[i] = page_entry(0, 4)[i];
    }
    for (unsigned level = 4; level > 1; --level) {
        uint64_t* const table = allocate_page();
        below[511] = (uintptr_t)table | page_present | page_writable;
        below = table;
    }
    below[1] = (uintptr_t)own | page_present | page_writable;
    write_cr3((uintptr_t)root);
    must_be_own(vmm_image + 0x1000, own);
}

/* By stores without an annotation. */
CASE unannotated_page_over_vmm(void) {
    load_page_tables();
    uint8_t* const own = allocate_page();
    own[0] = 0x77;
    *page_entry(vmm_image, 2) = (uintptr_t)allocate_page() | page_present | page_writable;
    write_cr3(read_cr3());
    *page_entry(vmm_image + 0x1000, 1) = (uintptr_t)own | page_present | page_writable;
    must_be_own(vmm_image + 0x1000, own);
}

CASE kernel_page_over_map(void) {
    load_page_tables();
    uint8_t* const own = allocate_page();
    own[0] = 0x77;
    map_page(vmm_map, (uintptr_t)own, page_present | page_writable);
    must_be_own(vmm_map, own);
}

CASE user_page_over_map(void) {
    prepare_user();
    map_page(vmm_map, (uintptr_t)allocate_page(), rights);
    run_user(user_read, vmm_map);
    print("FAIL: it went through\n");
}

CASE user_page_over_hypervisor(void) {
    prepare_user();
    map_page(hypervisor_area, (uintptr_t)allocate_page(), rights);
    run_user(user_write, hypervisor_area);
    print("FAIL: it went through\n");
}

/* Page by page, as far as each goes; then an exception lets the VMM run. */
static void destroy(uintptr_t from, uint64_t bytes) {
    at_the_deed();
    for (uint64_t done = 0; done < bytes; done += page_size) {
        exception_of("cld\n rep stosb", "D"(from + done), "c"(page_size), "a"(0xcc) : "memory");
    }
    exception_of("ud2", "a"(0) : "memory");
    print("destroyed\n");
}

CASE kernel_destroys_image(void) {
    destroy(vmm_image, 0x200000);
}

CASE kernel_destroys_map(void) {
    destroy(vmm_map, UINT64_C(1) << 28);
}

/* Here and there: page tables are read-only, the rest is the VMM's data and its copy of the guest. */
CASE kernel_destroys_data(void) {
    uint64_t state = 88172645463325252;
    at_the_deed();
    for (unsigned i = 0; i < 2000; ++i) {
        store(vmm_map + (next_random(&state) & 0x7ffffff), (uint8_t)next_random(&state));
    }
    print("stores done\n");
}

CASE kernel_destroys_shared_info(void) {
    destroy(vmm_image + 0x1fd000, 0x1000);
}

CASE kernel_jumps_to_image(void) {
    uint64_t state = 88172645463325252;
    at_the_deed();
    for (unsigned i = 0; i < 20; ++i) {
        const uintptr_t to = vmm_image + (next_random(&state) & 0x7fff);
        exception_of("call *%[to]", [to] "r"(to) : "memory", "cc", "rax", "rbx", "rcx", "rdx", "rsi", "rdi",
                     "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15");
    }
    print("came back\n");
}

CASE kernel_calls_entry(void) {
    /* The entry of rewritten sites, called from where none is. */
    extern const uint8_t call_site[];
    asm volatile("call_site: mov %0, %%cr4" : : "r"(read_cr4()));
    int32_t offset;
    if (call_site[0] != 0xe8) {
        print("FAIL: no call was put there\n");
        return;
    }
    __builtin_memcpy(&offset, call_site + 1, sizeof offset);
    asm volatile("call *%[entry]" : : [entry] "r"(call_site + 5 + offset) : "memory");
    print("FAIL: it came back\n");
}

DEFINE_GUEST
