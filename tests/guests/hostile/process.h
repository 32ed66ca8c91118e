/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Where things are in a process, and the host's system calls past the VMM: only the VMM's text may make them,
 * and a guest can write there. From hostile.h.
 */
#pragma once

#include "harness/ports.h"
#include "harness/uart.h"

#define vmm_image UINT64_C(0x78000000) /* backends/process/contract/layout.hpp */
#define vmm_map UINT64_C(0x7f4000000000)
#define vmm_private UINT64_C(0x78300000) /* its signals' stack */
#define guest_ram UINT64_C(0x7f0000000000)
#define hypervisor_area UINT64_C(0x7ffffffff000) /* where no process has anything */

enum {
    number_write = 1,
    number_open = 2,
    number_mmap = 9,
    number_mprotect = 10,
    number_munmap = 11,
    number_rt_sigaction = 13,
    number_rt_sigreturn = 15,
    number_socket = 41,
    number_clone = 56,
    number_fork = 57,
    number_execve = 59,
    number_kill = 62,
    number_ptrace = 101,
    number_prctl = 157,
    number_restart_syscall = 219,
    number_futex = 202,
    number_timer_create = 222,
    number_timer_settime = 223,
    number_exit_group = 231,
};

enum {
    host_memory = 3, /* backends/process/contract/layout.hpp */
    host_event = 4,
    clone_beside_parent = 0x8011,
    map_shared_fixed = 0x11,
    rights_all = 7,
};

struct handover { /* backends/process/contract/handover.hpp */
    uint64_t guest_memory, vmm_bytes;
    struct {
        uint64_t offset, bytes;
    } package, free, output, input;
};

static inline const struct handover* vmm_handover(void) {
    return (const struct handover*)(vmm_image + 508 * 4096);
}

struct ring { /* backends/common/contract/console_ring.hpp */
    uint32_t produced, reserved[15];
    uint32_t consumed, reader_waits, reserved2[14];
    char bytes[4096];
};

/* The monitor has shown what was printed: from here on it may be lost. */
static inline void await_reader(void) {
    struct ring* const output = (struct ring*)(vmm_map + vmm_handover()->output.offset);
    uint32_t produced;
    do {
        in8(uart_line_status); /* so that the VMM can pass it on */
        produced = __atomic_load_n(&output->produced, __ATOMIC_RELAXED);
    } while (produced == 0 || __atomic_load_n(&output->consumed, __ATOMIC_RELAXED) != produced);
}

/* Over a call of the VMM's that never returns: "syscall; ud2". */
static inline uintptr_t put_gadget(const char* code, unsigned length) {
    static const uint8_t last_call[] = {0x0f, 0x05, 0x0f, 0x0b};
    uintptr_t at = vmm_image;
    const uintptr_t end = at + 0x100000;
    while (at < end && __builtin_memcmp((const void*)at, last_call, sizeof last_call) != 0) {
        ++at;
    }
    if (at == end) {
        print("FAIL: the VMM has no such call\n");
        end_guest();
    }
    for (unsigned i = 0; i < length; ++i) {
        *(volatile char*)(at + i) = code[i];
    }
    return at;
}

static uintptr_t gadget;

static inline void find_gadget(void) {
    static const char code[] = {0x0f, 0x05, (char)0xc3};
    gadget = put_gadget(code, sizeof code);
}

static inline int64_t host_call(uint64_t number, uint64_t first, uint64_t second, uint64_t third,
                                uint64_t fourth, uint64_t fifth, uint64_t sixth) {
    register uint64_t r10 asm("r10") = fourth;
    register uint64_t r8 asm("r8") = fifth;
    register uint64_t r9 asm("r9") = sixth;
    int64_t result;
    asm volatile("call *%[gadget]"
                 : "=a"(result), "+D"(first), "+S"(second), "+d"(third), "+r"(r10), "+r"(r8), "+r"(r9)
                 : "0"(number), [gadget] "m"(gadget)
                 : "rcx", "r11", "memory", "cc");
    return result;
}

/* What is refused ends the guest. */
static inline void must_not_return(int64_t result) {
    print("FAIL: the host returned %lx\n", (uint64_t)result);
}
