/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 39
 *
 * What user mode can do about its mode by itself, in 64-bit code and in compatibility mode. SYSCALL of 32-bit
 * code leads to CSTAR (AMD), or is #UD (Intel) as it is everywhere while EFER.SCE is clear. SYSENTER is #UD
 * (AMD) or, while SYSENTER_CS is 0, #GP(0) (Intel). INT n is #GP, with the vector's place in the IDT, where
 * the gate is not for level 3, whatever n is. Far jumps, calls and returns and IRET reach code of level 3
 * that the GDT describes, and are #GP with the selector else.
 *
 * Nothing that user mode has in its registers or memory may matter to that: its stack pointer names kernel
 * memory, and the last 2 MiB below 4 GiB, where addresses of the last 2 MiB of all lie once they are cut to
 * 32 bits, are its own.
 *
 * Left out: INTO and BOUND, call gates, and the bits of INT's error code that tell n (QEMU's TCG differs).
 */
#include "harness/check.h"
#include "harness/console.h"
#include "harness/descriptors.h"
#include "harness/paging.h"
#include "harness/registers.h"
#include "harness/user.h"

enum {
    compatibility_vector = 0xc1, /* under which compatibility_entry reports to the recorder */
    long_vector = 0xc2,          /* likewise long_entry */
    vectors = 256,
    masked_flags = flag_interrupt | flag_trap | flag_direction | flag_nested_task,
    last_below_4_gib = 0xffe00000,
    in_local_table = 4,
    any_rpl = 3,
};

/* The same bytes in both modes: in 64-bit code 0xff has 32-bit operands too, and the others are without
 * REX.W. */
extern const char user_syscall[], user_syscall_done[], user_sysenter[], user_interrupts[], user_jump[],
    user_call[], user_return[], user_iret[], user_there[], user_there_done[];
extern uint32_t user_words[5]; /* offset, selector; or EIP, CS, EFLAGS, ESP, SS */
asm(".pushsection .user, \"aw\"\n"
    ".code32\n"
    "user_syscall: syscall\n"
    "user_syscall_done:\n"
    "	int $0x80\n"
    "user_sysenter: sysenter\n"
    "	int $0x80\n"
    "user_jump: ljmp *%ss:(%edi)\n"
    "	int $0x80\n"
    "user_call: lcall *%ss:(%edi)\n"
    "	int $0x80\n"
    "user_return: lret\n"
    "user_iret: iret\n"
    "user_interrupts:\n"
    ".set number, 0\n"
    ".rept 256\n"
    "	.byte 0xcd, number\n"
    "	.set number, number + 1\n"
    ".endr\n"
    "user_there: mov %cs, %eax\n"
    "	int $0x80\n"
    "user_there_done:\n"
    ".balign 8\n"
    "user_words: .long 0, 0, 0, 0, 0\n"
    ".code64\n"
    ".popsection");

/* Addressed by the assembly below. */
uint64_t entered_by, entry_rsp, entry_flags;
uint32_t entry_selectors[2];
uint8_t entry_stack[4096] __attribute__((aligned(16)));

extern const char compatibility_entry[], long_entry[];
asm("long_entry:\n"
    "	movq $0xc2, entered_by\n"
    "	jmp 1f\n"
    "compatibility_entry:\n"
    "	movq $0xc1, entered_by\n"
    "1:	mov %rsp, entry_rsp\n"
    "	mov $entry_stack + 4096, %rsp\n"
    "	pushfq\n"
    "	popq entry_flags\n"
    "	mov %cs, entry_selectors\n"
    "	mov %ss, entry_selectors + 4\n"
    "	pushq $0x2b\n"
    "	pushq entry_rsp\n"
    "	push %r11\n"
    "	pushq $0x23\n"
    "	push %rcx\n"
    "	pushq $0\n"
    "	pushq entered_by\n"
    "	jmp common_entry");

static const char* const modes[] = {"64-bit code", "32-bit code"};

static struct exception run(const char* code, bool in_32_bits, uint64_t stack, uint64_t flags) {
    struct user_start start = start_of(code, user_address((const char*)user_words));
    start.cs = in_32_bits ? user_code32 : user_code;
    start.rsp = stack;
    start.rflags |= flags;
    return run_user_from(&start);
}

static bool is_at(const struct exception* exception, unsigned vector, const char* symbol) {
    return exception->frame.vector == vector && exception->frame.rip == user_address(symbol);
}

static bool is_refused(const struct exception* exception, unsigned vector, uint64_t error_code,
                       const char* symbol) {
    return is_at(exception, vector, symbol) && exception->frame.error_code == error_code;
}

static void show(const struct exception* exception) {
    const struct frame* const frame = &exception->frame;
    print("optional: vector 0x%lx, error code 0x%lx, at 0x%lx, cs 0x%lx, rflags 0x%lx, rsp 0x%lx, ss 0x%lx, "
          "rax "
          "0x%lx\n",
          frame->vector, frame->error_code, frame->rip, frame->cs, frame->rflags, frame->rsp, frame->ss,
          frame->rax);
}

/* "where: subject: rest". */
static void describe(char* to, const char* where, const char* subject, const char* rest) {
    const char* const parts[] = {where, ": ", subject, ": ", rest};
    for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; ++i) {
        for (const char* from = parts[i]; *from; ++from) {
            *to++ = *from;
        }
    }
    *to = 0;
}

static void check_it(const char* what, bool good, const struct exception* exception) {
    check(what, good);
    if (!good) {
        show(exception);
    }
}

/* But for where it was. RSP and the flags of user mode must not matter to it. */
static bool system_call_is_right(const struct exception* exception, uint64_t stack, uint64_t flags) {
    const uint64_t before = flags | flag_always_one | flag_interrupt;
    const struct frame* const frame = &exception->frame;
    if (frame->rsp != stack || frame->cs != user_code32 || frame->ss != user_data || frame->error_code != 0) {
        return false;
    }
    if (frame->vector == vector_invalid_opcode) {
        return (frame->rflags & ~(uint64_t)flag_resume) == before;
    }
    return frame->vector == compatibility_vector && frame->r11 == before &&
           (entry_flags & masked_flags) == 0 &&
           (entry_flags & flag_alignment_check) == (flags & flag_alignment_check) &&
           entry_selectors[0] == kernel_code && entry_selectors[1] == kernel_data;
}

static void check_system_calls(const char* situation, const char* wanted) {
    static const uint64_t flags[] = {0, arithmetic_flags | flag_direction, flag_alignment_check,
                                     flag_nested_task};
    const uint64_t stacks[] = {user_stack_top - 16, user_stack_top, (uintptr_t)entry_stack + 2048, 0,
                               0xfffffff0};
    struct exception exception;
    bool good = true;
    bool placed = true;
    for (unsigned i = 0; good && i < sizeof flags / sizeof flags[0]; ++i) {
        for (unsigned k = 0; good && k < sizeof stacks / sizeof stacks[0]; ++k) {
            exception = run(user_syscall, true, stacks[k], flags[i]);
            good = system_call_is_right(&exception, stacks[k], flags[i]);
            placed = placed && (is_at(&exception, vector_invalid_opcode, user_syscall) ||
                                is_at(&exception, compatibility_vector, user_syscall_done));
        }
    }
    char what[80];
    describe(what, situation, "syscall", wanted);
    check_it(what, good, &exception);
    describe(what, situation, "syscall", "its place");
    check_it(what, placed, &exception);
}

static void check_sysenter(void) {
    for (unsigned in_32_bits = 0; in_32_bits < 2; ++in_32_bits) {
        const struct exception exception = run(user_sysenter, in_32_bits, (uintptr_t)entry_stack + 2048, 0);
        char what[80];
        describe(what, modes[in_32_bits], "sysenter", "#UD, or #GP(0)");
        check_it(what,
                 is_refused(&exception, vector_invalid_opcode, 0, user_sysenter) ||
                     is_refused(&exception, vector_protection, 0, user_sysenter),
                 &exception);
    }
}

static bool interrupt_is_right(unsigned n, bool in_32_bits, const struct exception* exception) {
    const char* const place = user_interrupts + (uintptr_t)2 * n;
    return exception->frame.cs == (in_32_bits ? user_code32 : user_code) &&
           exception->frame.rsp == (uintptr_t)entry_stack + 2048 &&
           (n == user_exit
                ? is_at(exception, user_exit, place + 2)
                : is_at(exception, vector_protection, place) && (exception->frame.error_code & 7) == 2);
}

static void check_interrupts(bool in_32_bits, unsigned first, unsigned end, const char* rest) {
    struct exception exception;
    bool good = true;
    for (unsigned n = first; good && n < end; ++n) {
        exception = run(user_interrupts + (uintptr_t)2 * n, in_32_bits, (uintptr_t)entry_stack + 2048, 0);
        good = interrupt_is_right(n, in_32_bits, &exception);
    }
    char what[80];
    describe(what, modes[in_32_bits], "int n", rest);
    check_it(what, good, &exception);
}

/* Does code of level 3 come to run by this selector? A return's RPL is the level to return to. */
static bool leads_on(unsigned selector, bool is_return) {
    enum { access = 40, code_of_level_3 = 0xf8 };
    return selector <= gdt_limit && (selector & in_local_table) == 0 &&
           (!is_return || (selector & any_rpl) == 3) &&
           (gdt[selector / 8] >> access & code_of_level_3) == code_of_level_3;
}

static const struct {
    const char* name;
    const char* code;
    bool is_return;
} transfers[] = {
    {"far jump", user_jump, false},
    {"far call", user_call, false},
    {"far return", user_return, true},
    {"iret", user_iret, true},
};

static void check_transfers(unsigned which, bool in_32_bits) {
    static const struct {
        unsigned first, end;
    } ranges[] = {{0, 0x200}, {0xff0, 0x1040}, {0xfff0, 0x10000}};
    struct exception exception;
    struct exception led;
    struct exception refused;
    bool good = true;
    bool led_well = true;
    bool refused_well = true;
    uint32_t* const words = user_words;
    words[0] = (uint32_t)user_address(user_there);
    words[2] = flag_always_one | flag_interrupt;
    words[3] = user_stack_top;
    words[4] = user_data;
    for (unsigned i = 0; good && i < sizeof ranges / sizeof ranges[0]; ++i) {
        for (unsigned selector = ranges[i].first; good && selector < ranges[i].end; ++selector) {
            words[1] = selector;
            exception =
                run(transfers[which].code, in_32_bits,
                    transfers[which].is_return ? user_address((const char*)words) : user_stack_top, 0);
            if (leads_on(selector, transfers[which].is_return)) {
                led = led_well ? exception : led;
                led_well = led_well && is_at(&exception, user_exit, user_there_done) &&
                           exception.frame.cs == (selector | any_rpl) &&
                           (exception.frame.rax & 0xffff) == exception.frame.cs;
                continue;
            }
            good = exception.frame.rip == user_address(transfers[which].code) &&
                   exception.frame.cs == (in_32_bits ? user_code32 : user_code);
            refused = refused_well ? exception : refused;
            refused_well = refused_well && is_refused(&exception, vector_protection,
                                                      selector & ~(unsigned)any_rpl, transfers[which].code);
        }
    }
    char what[80];
    describe(what, modes[in_32_bits], transfers[which].name, "leads where the GDT says");
    check_it(what, led_well, &led);
    describe(what, modes[in_32_bits], transfers[which].name, "leads nowhere else");
    check_it(what, good, &exception);
    describe(what, modes[in_32_bits], transfers[which].name, "otherwise #GP(selector)");
    check_it(what, refused_well, &refused);
}

/* Code that would tell by its CS where it runs. */
static void map_last_below_4_gib(void) {
    const uint64_t flags = page_present | page_writable | page_user | page_accessed | page_dirty;
    uint8_t* const page = allocate_page();
    for (unsigned i = 0; i < page_size; ++i) {
        page[i] = (uint8_t)user_there[i % 4]; /* both instructions */
    }
    for (uintptr_t offset = 0; offset < large_page_size; offset += page_size) {
        map_page(last_below_4_gib + offset, (uintptr_t)page, flags);
        *(volatile uint8_t*)(last_below_4_gib + offset);
    }
}

void guest(void) {
    load_descriptor_tables();
    prepare_user();
    check_system_calls("32-bit code, SCE clear", "#UD");
    write_msr(msr_efer, read_msr(msr_efer) | efer_syscall_enable);
    write_msr(msr_star, (uint64_t)(user_code32) << 48 | (uint64_t)kernel_code << 32);
    write_msr(msr_lstar, (uintptr_t)long_entry);
    write_msr(msr_cstar, (uintptr_t)compatibility_entry);
    write_msr(msr_sfmask, masked_flags);
    check_system_calls("32-bit code", "CSTAR, or #UD");
    const struct exception exception = run(user_syscall, false, user_stack_top, 0);
    check_it("64-bit code: syscall: LSTAR", is_at(&exception, long_vector, user_syscall_done), &exception);
    check_sysenter();
    for (unsigned in_32_bits = 0; in_32_bits < 2; ++in_32_bits) {
        check_interrupts(in_32_bits, 0, 0x17, "n below 0x17");
        check_interrupts(in_32_bits, 0x17, 0x1b, "0x17 to 0x1a");
        check_interrupts(in_32_bits, 0x1b, vectors, "n above 0x1a");
        for (unsigned which = 0; which < sizeof transfers / sizeof transfers[0]; ++which) {
            check_transfers(which, in_32_bits);
        }
    }
    map_last_below_4_gib();
    check_system_calls("32-bit code, with more of its own", "CSTAR, or #UD");
}
