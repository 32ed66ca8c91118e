/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 32
 *
 * RFLAGS at CPL 0. PUSHF and POPF move IF, IOPL, NT, AC, ID, DF and the arithmetic flags; bit 1 always reads
 * one, bits 3, 5, 15 and all above ID read zero, and POPF clears RF and leaves VM alone. CLI and STI change
 * IF and nothing else. No interrupt source is unmasked: IF is looked at, not what it lets in.
 */
#include "harness/check.h"
#include "harness/pic.h"
#include "harness/registers.h"

static void check_interrupt_flag(void) {
    disable_interrupts();
    check_equal("cli clears IF", read_flags() & flag_interrupt, 0);
    enable_interrupts();
    check_equal("sti sets IF", read_flags() & flag_interrupt, flag_interrupt);
    enable_interrupts();
    check_equal("sti again leaves it set", read_flags() & flag_interrupt, flag_interrupt);
    write_flags(flag_always_one);
    check_equal("popf clears IF", read_flags() & flag_interrupt, 0);
    write_flags(flag_always_one | flag_interrupt);
    check_equal("popf sets IF", read_flags() & flag_interrupt, flag_interrupt);
    disable_interrupts();
    disable_interrupts();
    check_equal("cli twice clears IF", read_flags() & flag_interrupt, 0);
}

static void check_bits(void) {
    const uint64_t settable = flag_iopl | flag_nested_task | flag_alignment_check | flag_identification |
                              flag_direction | flag_interrupt | arithmetic_flags;
    uint64_t flags;
    /* No TF, which would trap, and DF only while no C code runs. */
    asm volatile("pushq %[all]\n popfq\n pushfq\n pop %[flags]\n pushq $2\n popfq"
                 : [flags] "=r"(flags)
                 : [all] "r"(~(uint64_t)flag_trap)
                 : "memory", "cc");
    check_equal("popf of all ones but TF sets what can be set, pushf shows no RF and VM",
                flags & ~(uint64_t)0x180000, settable | flag_always_one);
    check_equal("popf of 2 clears them", read_flags() & settable & ~(uint64_t)arithmetic_flags, 0);
    for (uint64_t level = 0; level < 4; ++level) {
        write_flags(level << 12 | flag_always_one);
        check_equal("IOPL is what popf wrote", read_flags() & flag_iopl, level << 12);
    }
    write_flags(flag_always_one);
}

static void check_narrow(void) {
    uint64_t flags;
    uint64_t moved;
    asm volatile("pushq $0x200002\n popfq\n" /* ID, which is above the low word */
                 "pushw $0x0a03\n popfw\n pushfq\n pop %[flags]\n pushq $2\n popfq"
                 : [flags] "=r"(flags)
                 :
                 : "memory", "cc");
    check_equal("popfw changes the low word", flags, 0x200a03);
    asm volatile("mov %%rsp, %[moved]\n pushfw\n sub %%rsp, %[moved]\n popw %w[flags]"
                 : [flags] "=&r"(flags), [moved] "=&r"(moved)
                 :
                 : "memory", "cc");
    check_equal("pushfw moves RSP by 2", moved, 2);
}

/* `instruction` between setting the arithmetic flags and reading them. */
#define FLAGS_AFTER(instruction, before)                                                                     \
    ({                                                                                                       \
        uint64_t flags_;                                                                                     \
        asm volatile("push %[given]\n popfq\n" instruction "\n pushfq\n pop %[flags]\n cli"                  \
                     : [flags] "=r"(flags_)                                                                  \
                     : [given] "r"(before)                                                                   \
                     : "memory", "cc");                                                                      \
        flags_;                                                                                              \
    })

static void check_arithmetic(void) {
    static const uint64_t patterns[] = {arithmetic_flags, 0, flag_carry | flag_overflow,
                                        flag_zero | flag_sign, flag_parity | flag_auxiliary};
    for (unsigned i = 0; i < sizeof patterns / sizeof patterns[0]; ++i) {
        const uint64_t before = patterns[i] | flag_always_one;
        check_equal("cli keeps the arithmetic flags", FLAGS_AFTER("cli", before | flag_interrupt), before);
        check_equal("sti keeps the arithmetic flags", FLAGS_AFTER("sti", before), before | flag_interrupt);
        check_equal("pushf and lea keep the arithmetic flags",
                    FLAGS_AFTER("pushfq\n lea 8(%%rsp), %%rsp", before), before);
    }
    const uint64_t direction = flag_always_one | flag_direction | flag_carry;
    check_equal("cli keeps DF", FLAGS_AFTER("cli\n pushfq\n popfq\n sti\n cli\n", direction), direction);
    write_flags(flag_always_one);
}

static void check_nesting(void) {
    enable_interrupts();
    const uint64_t outer = read_flags();
    disable_interrupts();
    const uint64_t inner = read_flags();
    disable_interrupts();
    write_flags(inner);
    check_equal("restoring an inner state leaves IF clear", read_flags() & flag_interrupt, 0);
    write_flags(outer);
    check_equal("restoring the outer state sets IF", read_flags() & flag_interrupt, flag_interrupt);
    disable_interrupts();
}

void guest(void) {
    mask_all_interrupts();
    check_interrupt_flag();
    check_bits();
    check_narrow();
    check_arithmetic();
    check_nesting();
}
