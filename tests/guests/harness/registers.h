/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Control, model-specific and segment registers.
 */
#pragma once

#include <stdint.h>

enum {
    flag_carry = 1 << 0,
    flag_parity = 1 << 2,
    flag_auxiliary = 1 << 4,
    flag_zero = 1 << 6,
    flag_sign = 1 << 7,
    flag_trap = 1 << 8,
    flag_interrupt = 1 << 9,
    flag_direction = 1 << 10,
    flag_overflow = 1 << 11,
    flag_iopl = 3 << 12,
    flag_nested_task = 1 << 14,
    flag_resume = 1 << 16,
    flag_alignment_check = 1 << 18,
    flag_identification = 1 << 21,
    flag_always_one = 1 << 1,
    arithmetic_flags = 0x8d5,
};

enum {
    cr0_monitor = 1 << 1,
    cr0_emulation = 1 << 2,
    cr0_task_switched = 1 << 3,
    cr0_numeric_error = 1 << 5,
    cr0_write_protect = 1 << 16,
    cr0_alignment_mask = 1 << 18,
    cr4_page_global = 1 << 7,
    cr4_fxsr = 1 << 9,
    cr4_simd_exceptions = 1 << 10,
    cr4_fsgsbase = 1 << 16,
};

enum {
    msr_efer = 0xc0000080U,
    msr_star = 0xc0000081U,
    msr_lstar = 0xc0000082U,
    msr_cstar = 0xc0000083U,
    msr_sfmask = 0xc0000084U,
    msr_fs_base = 0xc0000100U,
    msr_gs_base = 0xc0000101U,
    msr_kernel_gs_base = 0xc0000102U,
    efer_syscall_enable = 1 << 0,
    efer_long_mode_enable = 1 << 8,
    efer_long_mode_active = 1 << 10,
    efer_no_execute_enable = 1 << 11,
};

#define DEFINE_REGISTER(name, mnemonic)                                                                      \
    static inline uint64_t read_##name(void) {                                                               \
        uint64_t value;                                                                                      \
        asm volatile("mov %%" mnemonic ", %[value]" : [value] "=r"(value) : : "memory");                     \
        return value;                                                                                        \
    }                                                                                                        \
    static inline void write_##name(uint64_t value) {                                                        \
        asm volatile("mov %[value], %%" mnemonic : : [value] "r"(value) : "memory");                         \
    }

DEFINE_REGISTER(cr0, "cr0")
DEFINE_REGISTER(cr2, "cr2")
DEFINE_REGISTER(cr3, "cr3")
DEFINE_REGISTER(cr4, "cr4")
DEFINE_REGISTER(cr8, "cr8")
DEFINE_REGISTER(dr0, "dr0")
DEFINE_REGISTER(dr1, "dr1")
DEFINE_REGISTER(dr2, "dr2")
DEFINE_REGISTER(dr3, "dr3")
DEFINE_REGISTER(dr6, "dr6")
DEFINE_REGISTER(dr7, "dr7")
#undef DEFINE_REGISTER

#define DEFINE_SEGMENT(name)                                                                                 \
    static inline uint16_t read_##name(void) {                                                               \
        uint32_t value;                                                                                      \
        asm volatile("mov %%" #name ", %[value]" : [value] "=r"(value) : : "memory");                        \
        return (uint16_t)value;                                                                              \
    }                                                                                                        \
    static inline void write_##name(uint16_t value) {                                                        \
        asm volatile("mov %[value], %%" #name : : [value] "r"((uint32_t)value) : "memory");                  \
    }

DEFINE_SEGMENT(ds)
DEFINE_SEGMENT(es)
DEFINE_SEGMENT(fs)
DEFINE_SEGMENT(gs)
DEFINE_SEGMENT(ss)
#undef DEFINE_SEGMENT

static inline uint16_t read_cs(void) {
    uint32_t value;
    asm volatile("mov %%cs, %[value]" : [value] "=r"(value));
    return (uint16_t)value;
}

static inline uint64_t read_msr(uint32_t number) {
    uint32_t low;
    uint32_t high;
    asm volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(number) : "memory");
    return (uint64_t)high << 32 | low;
}

static inline void write_msr(uint32_t number, uint64_t value) {
    asm volatile("wrmsr" : : "c"(number), "a"((uint32_t)value), "d"((uint32_t)(value >> 32)) : "memory");
}

static inline uint64_t read_flags(void) {
    uint64_t flags;
    asm volatile("pushfq\n pop %[flags]" : [flags] "=r"(flags) : : "memory");
    return flags;
}

static inline void write_flags(uint64_t flags) {
    asm volatile("push %[flags]\n popfq" : : [flags] "r"(flags) : "memory", "cc");
}

static inline void enable_interrupts(void) {
    asm volatile("sti" : : : "memory");
}

static inline void disable_interrupts(void) {
    asm volatile("cli" : : : "memory");
}

static inline void flush_page(uintptr_t address) {
    asm volatile("invlpg (%[address])" : : [address] "r"(address) : "memory");
}
