/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Each case executes one instruction of forms.S, or two if the first has an interrupt shadow, with registers,
 * flags, selectors and memory from a seeded generator, and digests what it leaves.
 * random_instructions/compare.py runs it on a bare PC and at a place. Command line: seed, cases; list=1
 * prints each case's digest, show=N case N in full. The other words name what a place lacks (compare.py).
 *
 * Left out because QEMU's TCG differs from the manual (SDM volume 3 if no instruction is named): alignment
 * checks (6.15, #AC); #SS for non-canonical addresses through RBP and RSP; null selectors with an RPL for SS
 * (MOV, LSS, IRET) and any for LTR; reserved bits of CR0, CR4, CR8 (2.5), of EFER, PAT and SYSENTER_CS
 * (WRMSR), of DR6 and DR7 (18.2), and of the local APIC's registers; WRMSR of bases that are not canonical.
 *
 * Because conforming machines differ: RF, flags that are undefined, memory below RSP, padding behind a site,
 * REP with a count of 0 of user mode without rights to the port, STI; HLT under TF, STI in the shadow of MOV
 * to SS (STI), far pointers of 64 bits, the first part of a store of which the second faults, counters,
 * CPUID.
 *
 * Because VMMs do not model it: CR0.TS, EM and PG, levels 1 and 2, call gates, a kernel's 32-bit code. And
 * SGDT, SIDT, SLDT, STR and SMSW of user mode, which give the host's answer.
 */
#include "harness/apic.h"
#include "harness/check.h"
#include "harness/command_line.h"
#include "harness/console.h"
#include "harness/descriptors.h"
#include "harness/exceptions.h"
#include "harness/paging.h"
#include "harness/pic.h"
#include "harness/ports.h"
#include "harness/registers.h"
#include "harness/uart.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- forms.S */

enum {
    silent = 1 << 0,   /* level 3 executes it without a fault: without a record no VMM sees it */
    segments = 1 << 1, /* changes segment registers or bases */
    tables = 1 << 2,   /* GDTR, IDTR, LDTR or TR */
    control = 1 << 3,  /* control registers */
    debugs = 1 << 4,   /* debug registers */
    registers_of_models = 1 << 5,
    carry_only = 1 << 6,  /* the other arithmetic flags are undefined */
    hypervisor = 1 << 14, /* without a record, Xen answers it by itself */
    zero_only = 1 << 13,  /* the others are not read where the instruction is recorded */
    kernel_only = 1 << 7,
    page_tables = 1 << 8,
    unrecorded = 1 << 9, /* the macros record no such instruction */
    transfers = 1 << 10, /* to another place, perhaps of another level */
    padded_behind = 1 << 11,
    host_in_user = 1 << 12, /* in user mode it gives the host's answer */
};

#define KIND(name, properties) kind_##name,
enum kind {
#include "random_instructions/kinds.h"
    kinds
};
#undef KIND

#define KIND(name, properties) {#name, properties},
static const struct {
    const char* name;
    unsigned properties;
} kind_table[kinds] = {
#include "random_instructions/kinds.h"
};
#undef KIND

enum shape {
    plain,
    selectors,          /* in all general registers; operand 1: of a system segment */
    selector_in_memory, /* likewise */
    table_in_memory,    /* limit and base; operand 0 of the GDT, 1 of the IDT */
    far_pointer,        /* operand: bytes of the offset */
    interrupt_frame,    /* operand: bytes of an element */
    far_frame,          /* likewise */
    model_register,     /* operand 1: is written */
    control_values,     /* in all general registers; operand: the register's number */
    debug_values,       /* likewise */
    port,               /* operand: width */
    string,             /* likewise */
    flags_on_stack,     /* operand: width */
    bases,              /* in all general registers */
    table_entry,        /* in memory; operand 1: registers hold entries, 2: RAX often the present one */
    device,             /* a register of the local APIC */
    selector_on_stack,  /* operand: width */
    system_return,      /* operand: width */
    halt,
    status_word,
    ordinary_memory, /* operand: bytes */
    interrupt_number,
};

struct form {
    const char* text;
    const char *code, *code_end;
    const char *unrecorded_code, *unrecorded_end;
    uint8_t kind, shape, operand, memory;
};

extern const struct form forms[], forms_end[];

enum {
    rax,
    rcx,
    rdx,
    rbx,
    rsp,
    rbp,
    rsi,
    rdi,
    r8,
    r9,
    r10,
    r11,
    r12,
    r13,
    r14,
    r15,
    general_registers,
    none = general_registers,
};

#define fixed_operand UINT64_C(0x50000800)
asm(".globl fixed_operand\n"
    ".set fixed_operand, 0x50000800");

/* The address of a memory operand is base + index * scale + displacement. */
static const struct {
    uint8_t base, index, scale;
    int32_t displacement;
    bool has_32_bits;
    char segment;
} addressing[] = {
    {none, none, 0, 0, false, 0},     {rbx, none, 0, 0, false, 0},      {rsi, none, 0, 0x40, false, 0},
    {r13, r9, 4, -8, false, 0},       {r8, none, 0, 0x12345, false, 0}, {rsp, none, 0, 0, false, 0},
    {none, none, 0, 0, false, 0},     {none, none, 0, 0, false, 0},     {rbx, none, 0, 0, true, 0},
    {rdi, none, 0, 0x10, false, 'g'}, {r12, none, 0, 0, false, 0},      {r14, none, 0, 0, false, 'f'},
    {rbp, rdx, 1, 1, false, 0},       {rdi, none, 0, 0, false, 0},      {rsi, none, 0, 0, false, 0},
};
enum { by_stack_pointer = 5, by_rip = 6, by_number = 7 };

/* ---- what a case begins and ends with; the assembly below addresses them */

struct registers {
    uint64_t general[general_registers];
    uint64_t rip, cs, rflags, rsp, ss;
};

struct registers case_start, case_final;
uint64_t case_return_rsp;
uint8_t case_ended; /* it went through, in the kernel */

void enter_case(void);
extern const char case_abandoned[];
asm("	.text\n"
    "	.globl enter_case, case_end, case_abandoned\n"
    "enter_case:\n"
    "	push %rbx\n"
    "	push %rbp\n"
    "	push %r12\n"
    "	push %r13\n"
    "	push %r14\n"
    "	push %r15\n"
    "	mov %rsp, case_return_rsp\n"
    "	pushq case_start + 160\n"
    "	pushq case_start + 152\n"
    "	pushq case_start + 144\n"
    "	pushq case_start + 136\n"
    "	pushq case_start + 128\n"
    "	mov case_start, %rax\n"
    "	mov case_start + 8, %rcx\n"
    "	mov case_start + 16, %rdx\n"
    "	mov case_start + 24, %rbx\n"
    "	mov case_start + 40, %rbp\n"
    "	mov case_start + 48, %rsi\n"
    "	mov case_start + 56, %rdi\n"
    "	mov case_start + 64, %r8\n"
    "	mov case_start + 72, %r9\n"
    "	mov case_start + 80, %r10\n"
    "	mov case_start + 88, %r11\n"
    "	mov case_start + 96, %r12\n"
    "	mov case_start + 104, %r13\n"
    "	mov case_start + 112, %r14\n"
    "	mov case_start + 120, %r15\n"
    "	iretq\n"
    "case_end:\n"
    "	mov %rax, case_final\n"
    "	mov %rcx, case_final + 8\n"
    "	mov %rdx, case_final + 16\n"
    "	mov %rbx, case_final + 24\n"
    "	mov %rsp, case_final + 32\n"
    "	mov %rbp, case_final + 40\n"
    "	mov %rsi, case_final + 48\n"
    "	mov %rdi, case_final + 56\n"
    "	mov %r8, case_final + 64\n"
    "	mov %r9, case_final + 72\n"
    "	mov %r10, case_final + 80\n"
    "	mov %r11, case_final + 88\n"
    "	mov %r12, case_final + 96\n"
    "	mov %r13, case_final + 104\n"
    "	mov %r14, case_final + 112\n"
    "	mov %r15, case_final + 120\n"
    "	mov case_return_rsp, %rsp\n"
    "	pushfq\n"
    "	popq case_final + 144\n"
    "	movb $1, case_ended\n"
    "case_abandoned:\n"
    "	pushq $2\n"
    "	popfq\n"
    "	pop %r15\n"
    "	pop %r14\n"
    "	pop %r13\n"
    "	pop %r12\n"
    "	pop %rbp\n"
    "	pop %rbx\n"
    "	ret\n"
    /* Far transfers lead here. */
    "	.globl landing\n"
    "landing:\n"
    "	nop\n"
    "	nop\n"
    "	int3\n"
    "	.section .user, \"aw\"\n"
    "	.globl user_landing\n"
    "user_landing:\n"
    "	nop\n"
    "	nop\n"
    "	{nooptimize} int $0x60\n"
    "	.text\n"
    /* To a VMM the bases of user mode may be in force since it entered the kernel (docs/xen.md): afterwards
       they are not. No return to user mode is near, or a VMM that looks ahead would exchange nothing. */
    "	.globl settle_bases\n"
    "	.skip 200, 0x90\n"
    "settle_bases:\n"
    "	swapgs\n"
    "	nop\n"
    "	swapgs\n"
    "	ret\n"
    "	.skip 200, 0x90\n"
    /* The byte at RDI, or the error code of the page fault behind 0x100. */
    "	.globl probe, probe_end\n"
    "probe:\n"
    "	movzbl (%rdi), %eax\n"
    "probe_end:\n"
    "	ret\n");
void settle_bases(void);
uint32_t probe(uintptr_t address);
extern const char landing[], user_landing[], probe_end[];

/* ---- memory */

#define window UINT64_C(0x50000000)
#define table_window UINT64_C(0x50200000)

enum {
    rights = page_present | page_writable | page_accessed | page_dirty,
    page_read_only = 2, /* of the window; 0 and 1 may be written */
    page_absent = 3,
    page_of_kernel = 4,
    page_stack = 6, /* and 7 */
    window_pages = 8,
    table_slots = 16,
    used_around = 16, /* bytes before and behind an operand that a case fills and looks at */
    stack_looked_at = 96,
    pending_vector = 0x90,
    not_present_data = spare_descriptors,
    not_present_user_data = spare_descriptors + 0x28,
    first_gate = 0x60,
    not_present_gate = 0x62,
};

enum region {
    region_none,
    region_ram,
    region_crossing,
    region_read_only,
    region_absent,
    region_half_absent,
    region_not_canonical,
    region_kernel, /* seen from user mode */
    regions,
};

static const char* const region_names[regions] = {"",       "ram",         "crossing",      "read-only",
                                                  "absent", "half-absent", "not-canonical", "kernel's"};

static uint8_t* window_page[window_pages];
static volatile uint64_t* table; /* of the table window */
static uint64_t gdt_template[(gdt_limit + 1) / 8];
static uint64_t first_root, second_root;
static struct gate other_idt[256] __attribute__((aligned(4096)));
static uint64_t other_gdt[(gdt_limit + 1) / 8] __attribute__((aligned(16)));

/* The byte of a page of the window, through the kernel's own mapping of its frame. */
static uint8_t* alias(uint64_t address) {
    const uint64_t page = (address - window) / page_size;
    return page < window_pages && window_page[page] ? window_page[page] + address % page_size : 0;
}

/* ---- random numbers */

static uint64_t random_state;

static uint64_t random64(void) {
    random_state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t value = random_state;
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

static unsigned below(unsigned limit) {
    return (unsigned)((random64() >> 32) * limit >> 32);
}

static bool one_in(unsigned count) {
    return below(count) == 0;
}

static uint64_t random_value(void) {
    const uint64_t value = random64();
    switch (below(8)) {
    case 0:
        return value & 0xff;
    case 1:
        return (uint64_t)(int64_t)(int32_t)value;
    case 2:
        return UINT64_C(1) << (value & 63);
    case 3:
        return ~(uint64_t)(value & 0xffff);
    default:
        return value;
    }
}

/* ---- the present case */

enum mode { recorded, trapped, user, modes };
static const char* const mode_names[modes] = {"recorded", "trapped", "user"};

struct event {
    uint64_t vector, error_code, rip, cs, ss, rflags, rsp, address;
};

enum { most_events = 8, most_steps = 2 };

static struct {
    const struct form* form;
    enum mode mode;
    enum region region;
    unsigned special; /* of the kind; a label of its own */
    uint64_t address; /* of the memory operand */
    uint64_t stack;
    uint64_t slot;
    bool is_pending, was_taken, enters_user;
    bool is_null; /* a selector that the instruction may load */
    unsigned events, steps;
    struct event event[most_events];
} now;

static bool is_probing, is_draining;
static uint32_t probed;

static void take_event(struct frame* frame) {
    if (frame->vector == pending_vector) {
        write_apic(apic_end_of_interrupt, 0);
        now.was_taken = true;
        if (is_draining) {
            return;
        }
    }
    if (is_probing) {
        probed = 0x100 | (uint32_t)frame->error_code | (uint32_t)frame->vector << 16;
        frame->rip = (uintptr_t)probe_end;
        return;
    }
    struct event* const event = &now.event[now.events < most_events ? now.events : most_events - 1];
    ++now.events;
    *event = (struct event){frame->vector, frame->error_code, frame->rip, frame->cs,
                            frame->ss,     frame->rflags,     frame->rsp, 0};
    const struct form* const form = now.form;
    const bool is_in_padding = kind_table[form->kind].properties & padded_behind &&
                               frame->rip > (uintptr_t)form->code && frame->rip < (uintptr_t)form->code_end;
    if (is_in_padding && frame->vector == vector_debug) {
        --now.events; /* a VMM may take padding and instruction for one */
        write_dr6(0);
        return;
    }
    if (is_in_padding) {
        event->rip = (uintptr_t)form->code_end;
    }
    now.enters_user = now.enters_user || (frame->cs & 3) == 3;
    if (frame->vector == vector_page_fault) {
        event->address = read_cr2();
    } else if (frame->vector == vector_debug) {
        event->address = read_dr6() & ~UINT64_C(0xf); /* whether it clears them is the processor's choice */
        write_dr6(0);
        if (++now.steps >= most_steps) {
            frame->rflags &= ~(uint64_t)flag_trap;
        }
        if (now.events < 2 * most_events) {
            return;
        }
    } else if (frame->vector == pending_vector && now.events < 2 * most_events) {
        return;
    }
    static const uint8_t places[general_registers] = {14, 13, 12, 11, 0, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
    for (unsigned i = 0; i < general_registers; ++i) {
        case_final.general[i] = ((const uint64_t*)frame)[places[i]];
    }
    case_final.general[rsp] = frame->rsp;
    case_final.rflags = frame->rflags;
    frame->rip = (uintptr_t)case_abandoned;
    frame->cs = kernel_code;
    frame->ss = kernel_data;
    frame->rflags = flag_always_one;
    frame->rsp = case_return_rsp;
}

/* ---- its input */

static const uint16_t usual_selectors[] = {0, kernel_code, kernel_data, user_code32, user_data, user_code};

enum { linux_processor_number = 0x7b }; /* a host may have a segment of user mode there */

static bool has_user_segments;      /* a host process has those alone that Linux gives it */
static bool traps_to_vmm;           /* and not to Xen */
static bool guards_kernel;          /* from user mode: not without --isolate */
static bool keeps_selectors;        /* of DS, ES, FS and GS: an interpreting KVM loses them */
static bool keeps_nested_task_flag; /* of user mode: likewise */

static uint16_t any_selector(void) {
    switch (below(8)) {
    case 0:
        return 0;
    case 1:
        return (uint16_t)(random64() & 0x1ff); /* any, some beyond the limit or of the LDT */
    case 2:
    case 3:
        return usual_selectors[below(sizeof usual_selectors / sizeof usual_selectors[0])];
    default:
        return (uint16_t)(below((gdt_limit + 1) / 8) << 3 | below(4));
    }
}

static uint16_t random_selector(void) {
    const uint16_t selector = any_selector();
    if (selector < 4) {
        return 0;
    }
    const uint16_t segment = selector | 3;
    const bool is_code = segment == user_code || segment == user_code32;
    return (!has_user_segments && is_code) || segment == linux_processor_number ? user_data : selector;
}

static uint64_t in_low_bits(uint64_t upper, uint16_t low) {
    return (upper & ~UINT64_C(0xffff)) | low;
}

static uint64_t random_base(void) {
    const uint64_t value = random_value();
    return one_in(2) ? value & UINT64_C(0x7fffffffffff) : (uint64_t)((int64_t)(value << 16) >> 16);
}

static uint64_t random_flags(void) {
    uint64_t flags = flag_always_one | (random64() & (arithmetic_flags | flag_identification));
    flags |= one_in(3) ? flag_direction : 0;
    flags |= one_in(2) ? flag_interrupt : 0;
    flags |= (uint64_t)below(4) << 12;
    return flags;
}

static uint64_t random_control(unsigned number) {
    switch (number) {
    case 0: {
        const uint64_t changed = cr0_monitor | cr0_numeric_error | cr0_write_protect | cr0_alignment_mask;
        return UINT64_C(0x80000011) | (random64() & changed);
    }
    case 3:
        return (one_in(2) ? first_root : second_root) | (random64() & 0x18);
    case 4:
        return 0x20 | cr4_fsgsbase | cr4_fxsr |
               (random64() & (8 | 16 | cr4_page_global | cr4_simd_exceptions));
    case 8:
        return below(16);
    default:
        return random_value();
    }
}

static uint64_t random_debug(unsigned number) {
    const uint64_t value = random_value();
    switch (number) {
    case 6:
        return (one_in(4) ? value : value & 0xffffffff) & ~UINT64_C(0x1000);
    case 7:
        /* No breakpoint is enabled, and GD is clear. */
        return (one_in(4) ? value : value & 0xffffffff) & ~UINT64_C(0xf8ff);
    default:
        return value;
    }
}

static const uint32_t model_registers[] = {
    0x174,     0x175,      0x176,       0x277,       msr_efer,           msr_star,     msr_lstar,
    msr_cstar, msr_sfmask, msr_fs_base, msr_gs_base, msr_kernel_gs_base, msr_apic_base};
enum { known_registers = sizeof model_registers / sizeof model_registers[0] };
static uint64_t kept_registers[known_registers];

enum special { ordinary, special_unknown, special_refused, special_stepped, special_host, specials };
static const char* const special_names[specials] = {"", "unknown", "refused", "stepped", "host"};

static void choose_model_register(bool is_write) {
    const uint32_t number = model_registers[below(known_registers)];
    uint64_t value = random_value();
    case_start.general[rcx] = (random64() << 32) | number;
    switch (number) {
    case msr_efer:
        value = kept_registers[4] ^ (random64() & (efer_syscall_enable | efer_no_execute_enable));
        break;
    case 0x277: {
        static const uint8_t types[] = {0, 1, 4, 5, 6, 7};
        value = 0;
        for (unsigned i = 0; i < 8; ++i) {
            value |= (uint64_t)types[below(sizeof types)] << 8 * i;
        }
        break;
    }
    case 0x174:
        value &= 0xffff;
        break;
    case msr_sfmask:
        value &= 0xffffffff;
        break;
    case msr_apic_base:
        value = kept_registers[known_registers - 1];
        break;
    case msr_star:
        break;
    default:
        value = random_base();
    }
    if (one_in(16)) {
        static const uint32_t unknown[] = {0x2, 0x123456, 0xc0001234, 0xffffffff, 0x40001234, 0x7ff};
        case_start.general[rcx] = unknown[below(sizeof unknown / sizeof unknown[0])];
        now.special = special_unknown;
    }
    if (is_write) {
        case_start.general[rax] = (random64() << 32) | (uint32_t)value;
        case_start.general[rdx] = (random64() << 32) | value >> 32;
    }
}

static void put(uint64_t address, uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) {
        uint8_t* const place = alias(address + i);
        if (place) {
            *place = (uint8_t)(value >> 8 * i);
        }
    }
}

static void choose_region(unsigned memory) {
    const bool is_user = now.mode == user;
    unsigned choice = below(16);
    if (memory == by_stack_pointer || memory == by_rip || memory == by_number) {
        choice = 0;
    }
    if (choice == 15 &&
        (addressing[memory].has_32_bits || addressing[memory].base == rbp || addressing[memory].segment)) {
        choice = 11;
    }
    const uint64_t offset = random64();
    switch (choice) {
    case 8:
    case 9:
        now.region = region_crossing;
        now.address = window + page_size - 1 - offset % 9;
        break;
    case 10:
        now.region = region_read_only;
        now.address = window + page_read_only * page_size + 0x100 + offset % 0xc00;
        break;
    case 11:
    case 12:
        now.region = region_absent;
        now.address = window + page_absent * page_size + 0x100 + offset % 0xc00;
        break;
    case 13:
        now.region = region_half_absent;
        now.address = window + page_absent * page_size - 1;
        break;
    case 14:
        now.region = is_user && guards_kernel ? region_kernel : region_ram;
        now.address = (is_user && guards_kernel ? window + page_of_kernel * page_size : window) + 0x100 +
                      offset % 0xc00;
        break;
    case 15:
        now.region = region_not_canonical;
        now.address = (offset | UINT64_C(1) << 63) & ~(UINT64_C(1) << 62);
        break;
    default:
        now.region = region_ram;
        now.address =
            window + page_size * (offset >> 60 & 1) + 0x100 + (offset % 0xc00 & ~(offset >> 32 & 7));
    }
    if (memory == by_stack_pointer) {
        now.address = now.stack;
    } else if (memory == by_rip || memory == by_number) {
        now.address = fixed_operand;
    }
}

/* Makes the operand's address now.address. */
static void set_operand_address(unsigned memory) {
    if (memory == by_stack_pointer || memory == by_rip || memory == by_number) {
        return;
    }
    uint64_t base = now.address - (uint64_t)(int64_t)addressing[memory].displacement;
    if (addressing[memory].index != none) {
        base -= case_start.general[addressing[memory].index] * addressing[memory].scale;
    }
    if (addressing[memory].segment) {
        const uint64_t segment_base = random64() & UINT64_C(0x7fffffff);
        write_msr(addressing[memory].segment == 'g' ? msr_gs_base : msr_fs_base, segment_base);
        base -= segment_base;
    }
    if (addressing[memory].has_32_bits) {
        base = (base & 0xffffffff) | random64() << 32;
    }
    case_start.general[addressing[memory].base] = base;
}

static void choose_memory(const struct form* form) {
    choose_region(form->memory);
    set_operand_address(form->memory);
    for (uint64_t i = 0; i < 2 * used_around; i += 8) {
        put(now.address - used_around + i, random64(), 8);
    }
}

static uint64_t landing_of(uint16_t selector) {
    return (uintptr_t)((selector & 3) == 3 ? user_landing : landing);
}

static void choose_far_pointer(unsigned width) {
    uint16_t selector = random_selector();
    if (now.form->kind != kind_load_far_pointer) {
        selector = one_in(2) ? (now.mode == user ? user_code : kernel_code) : selector;
        put(now.address, (uintptr_t)(now.mode == user ? user_landing : landing), width);
    }
    put(now.address + width, selector, 2);
}

static void choose_frame(unsigned width) {
    uint16_t code = one_in(2)   ? kernel_code
                    : one_in(2) ? user_code
                    : one_in(3) ? user_code32
                                : random_selector();
    if ((code & 3) != 3) {
        code &= 0xfffc; /* levels 1 and 2 are not modelled */
    }
    uint16_t stack_selector = (code & 3) == 3 ? user_data : kernel_data;
    if (now.mode == user && code == kernel_code) {
        code = user_code;
        stack_selector = user_data;
    }
    if (one_in(4)) {
        stack_selector = random_selector();
    }
    if ((stack_selector & ~7) == not_present_data || (stack_selector & ~7) == not_present_user_data) {
        now.special = special_refused;
    }
    uint64_t flags = random_flags();
    flags |= one_in(8) ? flag_trap : 0;
    flags |= one_in(16) && ((code & 3) != 3 || keeps_nested_task_flag) ? flag_nested_task : 0;
    uint64_t frame[5] = {landing_of(code), code, flags, now.stack + 64 - (random64() & 0x3f), stack_selector};
    if (one_in(8)) {
        frame[0] = window + page_absent * page_size + 0x10;
    }
    if (now.form->shape == far_frame) {
        const uint64_t release = now.form->text[5] == ' ' ? 24 : 0;
        frame[2] = random_value();
        put(now.stack + 2 * width + release, frame[3], width);
        put(now.stack + 3 * width + release, frame[4], width);
        put(now.stack, frame[0], width);
        put(now.stack + width, code | (width == 8 ? random64() << 16 : 0), width);
        return;
    }
    for (unsigned i = 0; i < 5; ++i) {
        put(now.stack + width * i, frame[i], width);
    }
}

static uint64_t random_entry(void) {
    uint64_t entry = (uintptr_t)window_page[below(2)] |
                     (random64() & (page_writable | page_user | page_accessed | page_dirty));
    return entry | (one_in(4) ? 0 : page_present) | (one_in(8) ? random64() & 0xe00 : 0);
}

static uint16_t random_port(unsigned width, bool is_read) {
    static const uint16_t floating[] = {0xe4, 0x1e8, 0x2f0, 0x6660, 0xfff0};
    if (width == 1 && one_in(2)) {
        return is_read && one_in(3) ? pic_master_data : uart_scratch;
    }
    return floating[below(sizeof floating / sizeof floating[0])];
}

static bool has_sti(const char* text) {
    for (; *text; ++text) {
        if (text[0] == 's' && text[1] == 't' && text[2] == 'i') {
            return true;
        }
    }
    return false;
}

static void choose_input(const struct form* form) {
    const bool is_user = now.mode == user;
    for (unsigned i = 0; i < general_registers; ++i) {
        case_start.general[i] = random_value();
    }
    now.stack = window + page_stack * page_size + page_size + (random64() & 0x3ff & ~(one_in(4) ? 0U : 7U));
    for (uint64_t i = 0; i < stack_looked_at + 160; i += 8) {
        put(now.stack + i - 8, random_value(), 8);
    }
    case_start.rip = (uintptr_t)(now.mode == recorded ? form->code : form->unrecorded_code);
    case_start.cs = is_user ? user_code : kernel_code;
    case_start.ss = is_user ? user_data : kernel_data;
    case_start.rflags = random_flags();
    if (is_user) {
        case_start.rflags = (case_start.rflags & ~(uint64_t)flag_iopl) | (one_in(2) ? flag_iopl : 0);
    }
    case_start.rflags |= one_in(8) ? flag_trap : 0;
    case_start.rflags |= one_in(32) && keeps_nested_task_flag ? flag_nested_task : 0;
    case_start.rflags |= !is_user && one_in(4) ? flag_alignment_check : 0;
    case_start.rsp = now.stack;
    now.is_pending = one_in(8);
    const bool shows_flags = form->kind == kind_pushf || form->kind == kind_popf || form->kind == kind_iret;
    if (is_user && shows_flags && (case_start.rflags & (flag_iopl | flag_interrupt)) != flag_interrupt) {
        now.special = special_host; /* its IF and IOPL */
    }
    const bool has_other_shadow = form->kind == kind_sti || form->kind == kind_load_far_pointer ||
                                  (form->kind == kind_interrupt_shadow && has_sti(form->text));
    if (has_other_shadow && case_start.rflags & flag_trap) {
        now.special = special_stepped;
    }
    switch (form->shape) {
    case selectors:
        for (unsigned i = 0; i < general_registers; ++i) {
            const uint16_t selector = random_selector();
            now.is_null = now.is_null || selector < 4;
            case_start.general[i] = in_low_bits(case_start.general[i], selector);
        }
        break;
    case control_values:
        for (unsigned i = 0; i < general_registers; ++i) {
            case_start.general[i] = random_control(form->operand);
        }
        break;
    case debug_values:
        for (unsigned i = 0; i < general_registers; ++i) {
            case_start.general[i] = random_debug(form->operand);
        }
        break;
    case bases:
        for (unsigned i = 0; i < general_registers; ++i) {
            case_start.general[i] = random_base();
        }
        break;
    case status_word:
        for (unsigned i = 0; i < general_registers; ++i) {
            case_start.general[i] &= ~UINT64_C(0xc); /* neither EM nor TS */
        }
        break;
    case table_entry:
        for (unsigned i = 0; form->operand && i < general_registers; ++i) {
            case_start.general[i] = random_entry();
        }
        break;
    default:
        break;
    }
    switch (form->shape) {
    case selector_in_memory: {
        choose_memory(form);
        const uint16_t selector = random_selector();
        now.is_null = selector < 4;
        put(now.address, selector, 2);
        break;
    }
    case status_word:
        if (form->memory) {
            choose_memory(form);
            put(now.address, random64() & ~UINT64_C(0xc), 2);
        }
        break;
    case table_in_memory:
        choose_memory(form);
        if (form->operand == 0) {
            put(now.address, 0x57 + below(0x200), 2);
            put(now.address + 2, one_in(2) ? (uintptr_t)gdt : (uintptr_t)other_gdt, 8);
        } else {
            put(now.address, 0xfff + below(0x200), 2);
            put(now.address + 2, one_in(2) ? (uintptr_t)idt : (uintptr_t)other_idt, 8);
        }
        break;
    case far_pointer:
        choose_memory(form);
        choose_far_pointer(form->operand);
        break;
    case interrupt_frame:
    case far_frame:
        choose_frame(form->operand);
        break;
    case model_register:
        choose_model_register(form->operand == 1);
        break;
    case port:
        case_start.general[rdx] =
            in_low_bits(case_start.general[rdx], random_port(form->operand, form->kind == kind_in));
        break;
    case string:
        choose_memory(form);
        case_start.general[rdx] =
            in_low_bits(case_start.general[rdx], random_port(form->operand, form->kind == kind_ins));
        case_start.general[rcx] = below(5) + (is_user ? 1 : 0); /* or ports are not asked for */
        break;
    case flags_on_stack: {
        uint64_t flags = random_flags() | (one_in(2) ? random64() : 0);
        flags &= ~(uint64_t)(one_in(8) ? 0 : flag_trap);
        flags &= ~(uint64_t)(is_user ? flag_alignment_check : 0);
        flags &= ~(uint64_t)(is_user && !keeps_nested_task_flag ? flag_nested_task : 0);
        put(now.stack, flags, form->operand);
        break;
    }
    case table_entry:
        now.slot = below(table_slots);
        now.address = (uintptr_t)(table + now.slot);
        set_operand_address(form->memory);
        if (form->operand == 2 && one_in(2)) {
            case_start.general[rax] = table[now.slot];
        }
        break;
    case device: {
        static const uint16_t offsets[] = {apic_task_priority, apic_logical_destination,
                                           apic_destination_format};
        now.address = apic_place + offsets[below(sizeof offsets / sizeof offsets[0])];
        set_operand_address(form->memory);
        break;
    }
    case selector_on_stack:
        put(now.stack, in_low_bits(random64(), random_selector()), form->operand);
        break;
    case system_return:
        case_start.general[rcx] = one_in(4) ? window + page_absent * page_size : (uintptr_t)user_landing;
        case_start.general[rcx] |= form->operand == 4 ? random64() << 32 : 0;
        case_start.general[r11] = random_flags() | (one_in(8) ? flag_trap : 0);
        break;
    case interrupt_number: {
        const struct gate* const gate = &idt[form->operand];
        if (!(gate->type & 0x80) || (is_user && !(gate->type & 0x60))) {
            now.special = special_refused;
        } else if (form->operand == 0x80) {
            now.special = special_host;
        }
        break;
    }
    case halt:
        now.is_pending = true;
        case_start.rflags &= ~(uint64_t)flag_interrupt;
        break;
    case ordinary_memory:
        choose_memory(form);
        break;
    default:
        break;
    }
}

/* Inputs of which the result is not the same on all conforming machines, or which QEMU's TCG gets wrong. */
static bool is_left_out(const struct form* form) {
    if (form->kind == kind_ltr && now.is_null) {
        return true;
    }
    if (now.mode == user && kind_table[form->kind].properties & host_in_user) {
        return true;
    }
    if (form->shape == halt && case_start.rflags & flag_trap) {
        return true;
    }
    const bool writes = form->kind == kind_sgdt || form->kind == kind_sidt || form->kind == kind_ins;
    if (form->shape == string && now.region == region_not_canonical) {
        return true;
    }
    return writes && now.region == region_half_absent;
}

/* ---- its result */

struct machine {
    uint64_t word[24];
    unsigned count;
};

static struct machine machine_after;

static void note(struct machine* machine, uint64_t word) {
    machine->word[machine->count++] = word;
}

static void read_machine(struct machine* machine, unsigned properties) {
    machine->count = 0;
    if (properties & segments) {
        note(machine, read_ss());
    }
    if (properties & segments && keeps_selectors) {
        note(machine, read_ds() | (uint64_t)read_es() << 16);
        note(machine, read_fs() | (uint64_t)read_gs() << 16);
    }
    if (properties & segments) {
        note(machine, read_msr(msr_fs_base));
        note(machine, read_msr(msr_gs_base));
        note(machine, read_msr(msr_kernel_gs_base));
    }
    if (properties & tables) {
        struct table_pointer pointer;
        uint32_t selector;
        asm volatile("sgdt %[pointer]" : [pointer] "=m"(pointer));
        note(machine, pointer.base);
        note(machine, pointer.limit);
        asm volatile("sidt %[pointer]" : [pointer] "=m"(pointer));
        note(machine, pointer.base);
        note(machine, pointer.limit);
        asm volatile("str %[selector]" : [selector] "=r"(selector));
        note(machine, selector);
        asm volatile("sldt %[selector]" : [selector] "=r"(selector));
        note(machine, selector);
    }
    if (properties & control) {
        note(machine, read_cr0());
        note(machine, read_cr2());
        note(machine, read_cr3());
        note(machine, read_cr4());
        note(machine, read_cr8());
    }
    if (properties & debugs) {
        note(machine, read_dr0());
        note(machine, read_dr1());
        note(machine, read_dr2());
        note(machine, read_dr3());
        note(machine, read_dr6());
        note(machine, read_dr7());
    }
    if (properties & registers_of_models) {
        for (unsigned i = 0; i < known_registers; ++i) {
            note(machine, read_msr(model_registers[i]));
        }
    }
}

static void load_usual_segments(void) {
    asm volatile("mov %[data], %%ds\n"
                 "mov %[data], %%es\n"
                 "mov %[data], %%ss\n"
                 "mov %[null], %%fs\n"
                 "mov %[null], %%gs"
                 :
                 : [data] "r"(kernel_data), [null] "r"(0));
}

static void restore_machine(unsigned properties) {
    if (properties & (segments | transfers) || now.enters_user) {
        load_usual_segments();
        write_msr(msr_fs_base, 0);
        write_msr(msr_gs_base, 0);
        write_msr(msr_kernel_gs_base, 0x1000);
    }
    if (properties & tables) {
        const struct table_pointer gdt_pointer = {sizeof gdt - 1, (uintptr_t)gdt};
        const struct table_pointer idt_pointer = {sizeof idt - 1, (uintptr_t)idt};
        gdt[task_state / 8] &= ~(UINT64_C(2) << 40);
        asm volatile("lgdt %[gdt]\n"
                     "lidt %[idt]\n"
                     "lldt %w[null]\n"
                     "ltr %w[task]"
                     :
                     : [gdt] "m"(gdt_pointer), [idt] "m"(idt_pointer), [null] "r"(0), [task] "r"(task_state)
                     : "memory");
    }
    if (properties & control) {
        write_cr0(UINT64_C(0x80010011));
        write_cr3(first_root);
        write_cr4(0x20 | cr4_fsgsbase | cr4_fxsr);
        write_cr8(0);
    }
    if (properties & debugs) {
        write_dr0(0);
        write_dr1(0);
        write_dr2(0);
        write_dr3(0);
        write_dr6(0);
        write_dr7(0);
    }
    if (properties & registers_of_models) {
        for (unsigned i = 0; i < known_registers; ++i) {
            write_msr(model_registers[i], kept_registers[i]);
        }
    }
    for (unsigned i = 0; i < sizeof gdt / sizeof gdt[0]; ++i) {
        if (gdt[i] != gdt_template[i]) {
            gdt[i] = gdt_template[i];
        }
    }
}

static uint64_t digest;
static bool is_shown;

static void take(const char* what, uint64_t value) {
    digest = (digest ^ value) * UINT64_C(0x2545f4914f6cdd1d);
    digest ^= digest >> 29;
    if (is_shown) {
        print("  %s 0x%lx\n", what, value);
    }
}

static const char* const general_names[general_registers] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp",
                                                             "rsi", "rdi", "r8",  "r9",  "r10", "r11",
                                                             "r12", "r13", "r14", "r15"};

/* What a recorded far call saves is behind its padding if a VMM has put something else in its place. */
static uint64_t behind_padding(uint64_t word) {
    const uint64_t low = word & 0xffffffff;
    if (now.form->kind == kind_lcall && low > (uintptr_t)now.form->code &&
        low < (uintptr_t)now.form->code_end) {
        return (word & ~UINT64_C(0xffffffff)) | (uintptr_t)now.form->code_end;
    }
    return word;
}

static void take_memory(const char* what, uint64_t address, unsigned bytes) {
    for (unsigned offset = 0; offset < bytes; offset += 8) {
        uint64_t word = 0;
        for (unsigned i = 0; i < 8; ++i) {
            const uint8_t* const place = alias(address + offset + i);
            word |= (uint64_t)(place ? *place : 0) << 8 * i;
        }
        word = behind_padding(word);
        take(what, word);
    }
}

static void take_result(const struct form* form) {
    const unsigned properties = kind_table[form->kind].properties;
    uint64_t hidden_flags = flag_resume;
    if (properties & carry_only) {
        hidden_flags |= arithmetic_flags & ~flag_carry;
    }
    if (properties & zero_only && now.mode == recorded) {
        hidden_flags |= arithmetic_flags & ~flag_zero;
    }
    digest = 0;
    for (unsigned i = 0; i < now.events && i < most_events; ++i) {
        const struct event* const event = &now.event[i];
        take("event: vector", event->vector);
        take("    error code", event->error_code);
        take("    RIP", event->rip);
        take("    CS", event->cs);
        take("    SS", event->ss);
        take("    RFLAGS", event->rflags & ~hidden_flags);
        take("    RSP", event->rsp);
        take("    CR2 or DR6", event->address);
    }
    take("went through", case_ended);
    for (unsigned i = 0; i < general_registers; ++i) {
        take(general_names[i], case_final.general[i]);
    }
    take("RFLAGS", case_final.rflags & ~hidden_flags);
    if (case_final.general[rsp] - now.stack + 64 < 256) {
        take_memory("stack", case_final.general[rsp], stack_looked_at);
    }
    if (form->memory == by_stack_pointer) {
        take_memory("memory", now.address, used_around);
    } else if (now.region != region_none) {
        take_memory("memory", now.address - used_around, 2 * used_around);
    }
    take("interrupt taken", now.was_taken);
    for (unsigned i = 0; i < machine_after.count; ++i) {
        take("register", machine_after.word[i]);
    }
    for (unsigned i = 0; properties & (segments | tables | transfers) && i < sizeof gdt / sizeof gdt[0];
         ++i) {
        if (gdt[i] != gdt_template[i]) {
            take("descriptor", i);
            take("    is", gdt[i]);
        }
    }
    if (form->shape == table_entry) {
        take("entry", table[now.slot]);
        flush_page(table_window + now.slot * page_size);
        const uint64_t entry = table[now.slot];
        const uint64_t frame = entry & (page_frame | page_no_execute);
        if (!(entry & page_present) || frame == (uintptr_t)window_page[0] ||
            frame == (uintptr_t)window_page[1]) {
            is_probing = true;
            probed = probe(table_window + now.slot * page_size + 8);
            is_probing = false;
            take("and leads to", probed);
        } else {
            table[now.slot] =
                (uintptr_t)window_page[0] | rights; /* the other memory is not the same everywhere */
        }
    }
    if (form->shape == device) {
        take("device", read_apic((unsigned)(now.address - apic_place)));
    }
    if (form->kind == kind_out || form->kind == kind_outs) {
        take("device", in8(uart_scratch));
    }
}

/* ---- all cases */

struct label {
    uint32_t digest, count;
};
static struct label labels[kinds][modes][regions][specials];
static unsigned first_form[kinds + 1];

static void choose_form(void) {
    const unsigned kind = below(kinds);
    const unsigned properties = kind_table[kind].properties;
    now.form = &forms[first_form[kind] + below(first_form[kind + 1] - first_form[kind])];
    do {
        now.mode = (enum mode)below(modes);
    } while ((now.mode == recorded && properties & unrecorded) ||
             (now.mode == trapped && properties & hypervisor && !traps_to_vmm) ||
             (now.mode == trapped && properties & silent) || (now.mode == user && properties & kernel_only));
}

static void show_input(uint64_t number) {
    print("case %lu: %s: %s, %s%s%s\n", number, kind_table[now.form->kind].name, now.form->text,
          mode_names[now.mode], *region_names[now.region] ? ", " : "", region_names[now.region]);
    for (unsigned i = 0; i < general_registers; ++i) {
        print("  %s 0x%lx\n", general_names[i], case_start.general[i]);
    }
    print("  RIP 0x%lx, end 0x%lx\n  RFLAGS 0x%lx\n  RSP 0x%lx\n  address 0x%lx\n  interrupt pending %u\n "
          "result:\n",
          case_start.rip, (uintptr_t)(now.mode == recorded ? now.form->code_end : now.form->unrecorded_end),
          case_start.rflags, case_start.rsp, now.address, now.is_pending);
}

static bool is_listed;

static void print_label_of(unsigned kind, unsigned mode, unsigned region, unsigned special) {
    print("%s-%s", kind_table[kind].name, mode_names[mode]);
    if (region) {
        print("-%s", region_names[region]);
    }
    if (special) {
        print("-%s", special_names[special]);
    }
}

static void run_case(uint64_t seed, uint64_t number, uint64_t shown) {
    random_state = seed * UINT64_C(0xd1342543de82ef95) + number * UINT64_C(0xaf251af3b0f025b5);
    now = (__typeof__(now)){0};
    choose_form();
    const struct form* const form = now.form;
    const unsigned properties = kind_table[form->kind].properties;
    choose_input(form);
    if (is_left_out(form)) {
        return;
    }
    is_shown = number == shown;
    if (is_shown) {
        show_input(number);
    }
    if (now.is_pending) {
        write_apic(apic_command_low, apic_to_self | pending_vector);
    }
    if (properties & control) {
        write_cr2(0);
    }
    case_ended = 0;
    now.enters_user = now.mode == user;
    enter_case();
    if (now.enters_user) {
        settle_bases();
    }
    read_machine(&machine_after, properties);
    take_result(form);
    restore_machine(properties);
    if (form->shape == device) {
        write_apic(apic_task_priority, 0);
    }
    if (now.is_pending && !now.was_taken) {
        is_draining = true;
        enable_interrupts();
        asm volatile("nop");
        disable_interrupts();
        is_draining = false;
    }
    struct label* const label = &labels[form->kind][now.mode][now.region][now.special];
    ++label->count;
    label->digest = (label->digest ^ (uint32_t)(digest ^ digest >> 32)) * 0x9e3779b1U;
    if (is_listed) {
        print("%lu ", number);
        print_label_of(form->kind, now.mode, now.region, now.special);
        print(" 0x%x\n", (uint32_t)(digest ^ digest >> 32));
    }
}

static void print_labels(void) {
    for (unsigned kind = 0; kind < kinds; ++kind) {
        for (unsigned mode = 0; mode < modes; ++mode) {
            for (unsigned region = 0; region < regions; ++region) {
                for (unsigned special = 0; special < specials; ++special) {
                    const struct label* const label = &labels[kind][mode][region][special];
                    if (label->count) {
                        print_label_of(kind, mode, region, special);
                        print(" %u 0x%x\n", label->count, label->digest);
                    }
                }
            }
        }
    }
}

/* ---- the machine */

static void open_user_section(void) {
    extern char user_begin[], user_end[];
    const uintptr_t large = (uintptr_t)user_begin & ~(uintptr_t)(large_page_size - 1);
    uint64_t* const page_table = allocate_page();
    for (uint64_t i = 0; i < 512; ++i) {
        const uintptr_t address = large + i * page_size;
        const bool is_users = address >= (uintptr_t)user_begin && address < (uintptr_t)user_end;
        page_table[i] = address | rights | (is_users ? page_user : 0);
    }
    set_entry(2, page_entry(large, 2), (uintptr_t)page_table | rights | page_user);
    for (unsigned level = 3; level <= 4; ++level) {
        set_entry(level, page_entry(large, level), *page_entry(large, level) | page_user);
    }
}

static void fill_descriptors(void) {
    static const struct {
        uint8_t access, flags;
    } what[] = {{0x12, 0xc}, {0x1a, 0xa}, {0xf1, 0xc}, {0x99, 0xa}, {0x9f, 0xa}, {0x72, 0xc},
                {0x96, 0xc}, {0xb2, 0xc}, {0xd2, 0xc}, {0x99, 0xa}, {0x92, 0xc}, {0xf3, 0xc}};
    for (unsigned i = 0; i < sizeof what / sizeof what[0]; ++i) {
        const bool is_conforming = (what[i].access & 0x1c) == 0x1c;
        if (((what[i].access & 0x60) == 0x60 || is_conforming) && !has_user_segments) {
            continue;
        }
        gdt[spare_descriptors / 8 + i] = make_descriptor(0x12345678, 0xfffff, what[i].access, what[i].flags);
    }
    set_system_descriptor(0xc0, &tss, sizeof tss - 1, 0x89);
    set_system_descriptor(0xd0, &tss, sizeof tss - 1, 0x09);
    set_system_descriptor(0xe0, gdt, 0x2f, 0x82);
    set_system_descriptor(0xf0, gdt, 0x2f, 0x02);
    for (unsigned i = 0; i < sizeof gdt / sizeof gdt[0]; ++i) {
        gdt_template[i] = gdt[i];
        other_gdt[i] = gdt[i];
    }
}

static void start_machine(void) {
    traps_to_vmm = command_line_number("traps", 1) != 0;
    guards_kernel = command_line_number("guarded", 1) != 0;
    keeps_selectors = command_line_number("selectors", 1) != 0;
    keeps_nested_task_flag = command_line_number("nested_task", 1) != 0;
    has_user_segments = command_line_number("user_segments", 1) != 0;
    load_descriptor_tables();
    load_page_tables();
    start_pic();
    map_apic();
    write_cr0(read_cr0() | cr0_write_protect);
    write_cr4(0x20 | cr4_fsgsbase | cr4_fxsr);
    open_user_section();
    for (unsigned i = 0; i < window_pages; ++i) {
        if (i == page_absent || i == page_absent + 2) {
            continue;
        }
        const uint64_t flags = i == page_read_only ? rights & ~page_writable : rights;
        window_page[i] = allocate_page();
        map_page(window + i * page_size, (uintptr_t)window_page[i],
                 flags | (i == page_of_kernel ? 0 : page_user));
    }
    map_page(table_window, (uintptr_t)window_page[0], rights);
    table = (volatile uint64_t*)((uintptr_t)page_entry(table_window, 1) & ~(uintptr_t)(page_size - 1));
    first_root = read_cr3();
    uint64_t* const copy = allocate_page();
    for (unsigned i = 0; i < 512; ++i) {
        copy[i] = ((const uint64_t*)first_root)[i];
    }
    second_root = (uintptr_t)copy;
    fill_descriptors();
    for (unsigned vector = 0; vector < 256; ++vector) {
        handlers[vector] = take_event;
    }
    set_gate(vector_breakpoint, vector_entry(vector_breakpoint), interrupt_gate, 3);
    set_gate(first_gate, vector_entry(first_gate), interrupt_gate, 3);
    set_gate(0x80, vector_entry(0x80), interrupt_gate, 3);
    set_gate(first_gate + 3, vector_entry(first_gate + 3), trap_gate, 3);
    set_gate(not_present_gate, vector_entry(not_present_gate), interrupt_gate, 3);
    idt[not_present_gate].type &= 0x7f;
    for (unsigned vector = 0; vector < 256; ++vector) {
        other_idt[vector] = idt[vector];
    }
    write_apic(apic_spurious_vector, apic_on | 0xff);
    write_apic(apic_error_vector, apic_masked);
    write_msr(msr_efer, read_msr(msr_efer) | efer_syscall_enable);
    write_msr(msr_star, (uint64_t)user_code32 << 48 | (uint64_t)kernel_code << 32);
    write_msr(msr_kernel_gs_base, 0x1000);
    write_dr6(0);
    for (unsigned i = 0; i < known_registers; ++i) {
        kept_registers[i] = read_msr(model_registers[i]);
    }
    const unsigned count = (unsigned)(forms_end - forms);
    for (unsigned i = count; i-- > 0;) {
        first_form[forms[i].kind] = i;
    }
    first_form[kinds] = count;
}

void guest(void) {
    start_machine();
    const uint64_t seed = command_line_number("seed", 1);
    const uint64_t cases = command_line_number("cases", 20000);
    const uint64_t shown = command_line_number("show", UINT64_MAX);
    is_listed = command_line_number("list", 0) != 0;
    for (uint64_t number = 0; number < cases; ++number) {
        run_case(seed, number, shown);
    }
    print_labels();
}
