/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 41
 *
 * Exceptions that the kernel's own instructions raise, through interrupt gates. A fault saves the address of
 * its instruction, a trap that of the next; the frame holds CS, SS, RFLAGS and RSP of the interrupted code
 * and stands on a 16-byte boundary whatever RSP was. #DF, #TS, #NP, #SS, #GP, #PF and #AC push an error code.
 * A gate clears TF, NT and, an interrupt gate, IF.
 *
 * Left out: RF in the saved flags (differs between faults and processors). And what QEMU's TCG does not do:
 * #DB by INT1 (it raises #UD), #SS for non-canonical addresses through RBP and RSP (#GP), the write bit in
 * the error code of a read-modify-write (it reads first), #AC.
 */
#include "harness/exceptions.h"
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/paging.h"
#include "harness/registers.h"

enum {
    not_present_data = spare_descriptors,
    not_present_code = spare_descriptors + 8,
    beyond_limit = gdt_limit + 1,
};

static const uint64_t not_canonical = UINT64_C(1) << 63;

static void check_simple(void) {
    struct exception exception = exception_of("ud2", : "memory");
    check_exception("ud2", &exception, vector_invalid_opcode, 0, at_instruction);
    exception = exception_of("int3", : "memory");
    check_exception("int3", &exception, vector_breakpoint, 0, behind_instruction);
    exception = exception_of("divl %[zero]", "a"(1), "d"(0), [zero] "r"(0) : "cc");
    check_exception("div by zero", &exception, vector_divide, 0, at_instruction);
    exception = exception_of("idivl %[minus_one]", "a"(INT32_MIN), "d"(-1), [minus_one] "r"(-1) : "cc");
    check_exception("idiv overflow", &exception, vector_divide, 0, at_instruction);
    exception = exception_of("mov %[where], (%[where])", [where] "r"(not_canonical) : "memory");
    check_exception("store to a non-canonical address", &exception, vector_protection, 0, at_instruction);
    exception = exception_at("pushfq\n orq $0x100, (%%rsp)\n popfq", "nop", : "memory", "cc");
    check_exception("TF set by popf", &exception, vector_debug, 0, behind_instruction);
    check_equal("and TF is in the saved flags", exception.frame.rflags & flag_trap, flag_trap);
}

static void check_selectors(void) {
    gdt[not_present_data / 8] = make_descriptor(0, 0xfffff, 0x13, 0xc);
    gdt[not_present_code / 8] = make_descriptor(0, 0xfffff, 0x1b, 0xa);
    struct exception exception = exception_of("mov %[selector], %%ds", [selector] "r"(beyond_limit) :);
    check_exception("mov ds: beyond the limit", &exception, vector_protection, beyond_limit, at_instruction);
    exception = exception_of("mov %[selector], %%es", [selector] "r"(not_present_data) :);
    check_exception("mov es: not present", &exception, vector_not_present, not_present_data, at_instruction);
    exception = exception_of("mov %[selector], %%ss", [selector] "r"(not_present_data) :);
    check_exception("mov ss: not present", &exception, vector_stack, not_present_data, at_instruction);
    exception = exception_of("mov %[selector], %%ss", [selector] "r"(kernel_code) :);
    check_exception("mov ss: a code segment", &exception, vector_protection, kernel_code, at_instruction);
    exception = exception_of("mov %[selector], %%ss", [selector] "r"(user_data) :);
    check_exception("mov ss: wrong RPL", &exception, vector_protection, user_data & ~3, at_instruction);
    exception =
        exception_at("pushq %[selector]\n pushq $0", "lretq", [selector] "i"(not_present_code) : "memory");
    check_exception("lret: not present", &exception, vector_not_present, not_present_code, at_instruction);
    exception = exception_of("ltr %w[selector]", [selector] "r"(kernel_data) :);
    check_exception("ltr: a data segment", &exception, vector_protection, kernel_data, at_instruction);
    exception = exception_of("lldt %w[selector]", [selector] "r"(beyond_limit) :);
    check_exception("lldt: beyond the limit", &exception, vector_protection, beyond_limit, at_instruction);
}

static void check_page_faults(void) {
    const uintptr_t absent = 0x50000000;
    load_page_tables();
    struct exception exception = exception_of("mov (%[where]), %%al", [where] "r"(absent + 0x123) : "rax");
    check_exception("load from an absent page", &exception, vector_page_fault, 0, at_instruction);
    check_equal("CR2", exception.cr2, absent + 0x123);
    exception = exception_of("movb $1, (%[where])", [where] "r"(absent + 0xfff) : "memory");
    check_exception("store to an absent page", &exception, vector_page_fault, 2, at_instruction);
    check_equal("CR2", exception.cr2, absent + 0xfff);
    /* Not at the jump: RIP and CR2 are its target. The error code's fetch bit needs EFER.NXE. */
    exception = exception_of("jmp *%[where]", [where] "r"(absent) :);
    check_exception("jump to an absent page", &exception, vector_page_fault, 0, elsewhere);
    check_equal("RIP", exception.frame.rip, absent);
    check_equal("CR2", exception.cr2, absent);
}

static void check_frame(void) {
    uint64_t interrupted_rsp;
    struct exception exception = exception_of("ud2", : "memory");
    check_equal("CS is saved", exception.frame.cs, kernel_code);
    check_equal("SS is saved", exception.frame.ss, kernel_data);
    for (uint64_t offset = 0; offset < 16; offset += 4) {
        exception = exception_at("sub %[offset], %%rsp\n mov %%rsp, %%rcx",
                                 "ud2", [offset] "r"(offset) : "rcx", "memory", "cc");
        interrupted_rsp = exception.frame.rcx;
        check_equal("RSP is saved", exception.frame.rsp, interrupted_rsp);
        check_equal("the frame is aligned", exception.frame_end % 16, 0);
        check("and stands just below it",
              exception.frame_end <= interrupted_rsp && interrupted_rsp - exception.frame_end < 16);
    }
    const uint64_t given = flag_always_one | flag_carry | flag_sign | flag_interrupt;
    exception = exception_at("push %[given]\n popfq", "ud2", [given] "r"(given) : "memory", "cc");
    check_equal("RFLAGS are saved", exception.frame.rflags & ~(uint64_t)flag_resume, given);
    disable_interrupts();
}

static uint64_t handler_flags;

static void read_handler_flags(struct frame* frame) {
    (void)frame;
    handler_flags = read_flags();
}

static void check_gates(void) {
    const uint64_t given = flag_interrupt | flag_nested_task | flag_always_one;
    static const struct {
        const char* what;
        unsigned type;
        uint64_t left;
    } gates[] = {{"an interrupt gate clears IF and NT", interrupt_gate, 0},
                 {"a trap gate clears NT", trap_gate, flag_interrupt}};
    handlers[vector_breakpoint] = read_handler_flags;
    for (unsigned i = 0; i < 2; ++i) {
        uint64_t flags;
        set_gate(vector_breakpoint, vector_entry(vector_breakpoint), gates[i].type, 0);
        asm volatile("push %[given]\n popfq\n int3\n pushfq\n pop %[flags]\n pushq $2\n popfq"
                     : [flags] "=r"(flags)
                     : [given] "r"(given)
                     : "memory", "cc");
        check_equal(gates[i].what, handler_flags & (given | flag_trap) & ~(uint64_t)flag_always_one,
                    gates[i].left);
        check_equal("iret restores them", flags & given, given);
    }
    handlers[vector_breakpoint] = 0;
}

void guest(void) {
    load_descriptor_tables();
    check_simple();
    check_selectors();
    check_frame();
    check_gates();
    check_page_faults();
}
