/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Games with what a host process maps, and with what the monitor reads.
 */
#include "hostile.h"

#include "harness/access.h"
#include "harness/ports.h"

static int64_t unmap(uint64_t from, uint64_t bytes) {
    return host_call(number_munmap, from, bytes, 0, 0, 0, 0);
}

static int64_t protect(uint64_t from, uint64_t bytes, uint64_t rights) {
    return host_call(number_mprotect, from, bytes, rights, 0, 0, 0);
}

static int64_t map_file(uint64_t at, uint64_t bytes, uint64_t offset) {
    return host_call(number_mmap, at, bytes, rights_all, map_shared_fixed, host_memory, offset);
}

CASE unmaps_vmm(void) {
    find_gadget();
    at_the_deed();
    must_not_return(unmap(vmm_image, 0x200000));
}
CASE unmaps_everything(void) {
    find_gadget();
    must_not_return(unmap(0, UINT64_C(0x7ffffffff000)));
}
CASE unmaps_vmm_memory(void) {
    find_gadget();
    at_the_deed();
    unmap(vmm_map, UINT64_C(1) << 38);
    asm volatile("ud2");
}
CASE denies_vmm(void) {
    find_gadget();
    at_the_deed();
    must_not_return(protect(vmm_image, 0x200000, 0));
}
/* No signal can be delivered any more. */
CASE denies_signal_stack(void) {
    find_gadget();
    protect(vmm_private, 0x40000, 0);
    asm volatile("ud2");
    print("FAIL: it came back\n");
}
CASE maps_ram_over_vmm(void) {
    find_gadget();
    at_the_deed();
    must_not_return(map_file(vmm_image, 0x200000, vmm_handover()->vmm_bytes));
}
CASE maps_behind_the_file(void) {
    find_gadget();
    const struct handover* const handover = vmm_handover();
    map_file(0x60000000, 0x1000, handover->vmm_bytes + handover->guest_memory + 0x10000000);
    check_equal("memory behind the file's end", store(0x60000000, 1).frame.vector, vector_page_fault);
}

/* All of the file is as large as --memory and the VMM's part; nothing else can be had. */
CASE fills_memory(void) {
    find_gadget();
    const struct handover* const handover = vmm_handover();
    const uint64_t bytes = handover->vmm_bytes + handover->guest_memory;
    const uint64_t first = UINT64_C(0x100000000);
    const uint64_t apart = 0x2000; /* more would take page tables beyond their bound: process_bounds.c */
    uint64_t count = 0;
    int64_t got;
    do {
        const uint64_t at = first + count * apart;
        got = map_file(at, 0x1000, bytes - 0x1000 - (count & 1) * 0x1000);
        if (got == (int64_t)at) {
            *(volatile char*)at = 0;
            ++count;
        }
    } while (got > 0);
    print("mappings: %s\n", count < 70000 ? "they have an end" : "FAIL: without end");
    got = map_file(first, UINT64_C(1) << 45, 0);
    print("address space: %s\n", got < 0 ? "it has an end" : "FAIL: without end");
    for (uint64_t at = guest_ram + 0x1800000; at < guest_ram + handover->guest_memory; at += 0x1000) {
        *(volatile uint64_t*)at = at;
    }
    print("memory: all was written\n");
    host_call(number_exit_group, 0, 0, 0, 0, 0, 0);
}

/* ---- what the monitor reads and writes */

static void ring_doorbell(void) {
    static const uint64_t one = 1;
    host_call(number_write, host_event, (uintptr_t)&one, sizeof one, 0, 0, 0);
}

CASE rings_lie(void) {
    find_gadget();
    at_the_deed();
    struct ring* const rings[] = {(struct ring*)(vmm_map + vmm_handover()->output.offset),
                                  (struct ring*)(vmm_map + vmm_handover()->input.offset)};
    static const uint32_t counters[] = {0, 1, 0x7fffffff, 0x80000000, 0xfffff000, 0xffffffff};
    uint64_t state = 88172645463325252;
    for (unsigned i = 0; i < 3000; ++i) {
        const uint64_t random = next_random(&state);
        struct ring* const ring = rings[random & 1];
        const uint32_t value = random & 2 ? counters[(random >> 8) % 6] : (uint32_t)(random >> 32);
        __atomic_store_n(random & 4 ? &ring->produced : &ring->consumed, value, __ATOMIC_RELAXED);
        ring->reader_waits = (uint32_t)(random >> 16);
        ring->bytes[random >> 20 & 0xfff] = (char)(random >> 40);
        if ((random & 0x70) == 0) {
            ring_doorbell();
        }
    }
    host_call(number_exit_group, 0, 0, 0, 0, 0, 0);
}

CASE event_word_flips(void) {
    find_gadget();
    at_the_deed();
    uint32_t* const word = *(uint32_t**)(vmm_image + 16); /* backends/process/contract/handover.hpp: ImageHeader */
    uint64_t state = 88172645463325252;
    enable_interrupts();
    for (unsigned i = 0; i < 1000000; ++i) {
        __atomic_store_n(word, (uint32_t)next_random(&state), __ATOMIC_SEQ_CST);
        if ((i & 0xfff) == 0) {
            out8(0x80, 0); /* the VMM looks */
        }
    }
    disable_interrupts();
    check("the VMM lives on", true);
}

/* ---- the VMM's code, from where it is not called */

static void jump_at_random(uint64_t seed) {
    uint64_t state = seed;
    at_the_deed();
    for (unsigned i = 0; i < 200; ++i) {
        const uintptr_t to = vmm_image + (next_random(&state) & 0x1ffff);
        exception_of("call *%[to]", [to] "r"(to) : "memory", "cc", "rax", "rbx", "rcx", "rdx", "rsi", "rdi",
                     "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15");
    }
    print("came back\n");
}

CASE jumps_first_seed(void) {
    jump_at_random(0xbf58476d1ce4e5b9);
}
CASE jumps_second_seed(void) {
    jump_at_random(0x94d049bb133111eb);
}
CASE jumps_third_seed(void) {
    jump_at_random(0x2545f4914f6cdd1d);
}
CASE jumps_fourth_seed(void) {
    jump_at_random(0x9e3779b97f4a7c15);
}

DEFINE_GUEST
