/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 16
 *
 * What XSAVE, XSAVEOPT and XRSTOR do where XCR0 selects less than the processor has: with all ones in EDX:EAX
 * they save and load what XCR0 selects. Nothing else in memory changes, nor a component that XCR0 does not
 * select. XRSTOR refuses an area that holds such a component, and one in the compacted format, which CPUID
 * does not offer. Whatever the operand is, registers and flags stay, exceptions are at the instruction,
 * interrupts and single steps come between two of them.
 *
 * Left out: what XSTATE_BV says of a component in its initial state, which processors may find out or not.
 * Where the processor has no XSAVE or no AVX, nothing is to be seen.
 */
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/exceptions.h"
#include "harness/paging.h"
#include "harness/pic.h"
#include "harness/registers.h"
#include "harness/timer.h"
#include "harness/user.h"

enum {
    cpuid_xsave = 1 << 26,
    cr4_osxsave = 1 << 18,
    x87_and_sse = 3,
    with_avx = 7,
    header = 512,
    first_component = 576,
    avx = 1 << 2,
    xmm0 = 160,
    poison = 0xa5,
    unmapped = 0x50000000,
    period = 1193, /* 1 ms */
    ticks_wanted = 100,
};

struct area {
    uint8_t bytes[12288];
} __attribute__((aligned(64)));

static struct area area, image;
static bool offered;

struct leaf {
    uint32_t a, b, c, d;
};

static struct leaf cpuid(uint32_t number, uint32_t index) {
    struct leaf leaf;
    asm volatile("cpuid" : "=a"(leaf.a), "=b"(leaf.b), "=c"(leaf.c), "=d"(leaf.d) : "a"(number), "c"(index));
    return leaf;
}

static void set(uint32_t value) {
    asm volatile("xsetbv" : : "a"(value), "d"(0), "c"(0) : "memory");
}

static uint64_t* word(struct area* of, unsigned offset) {
    return (uint64_t*)(of->bytes + offset);
}

static void fill(struct area* of, uint8_t value) {
    for (unsigned i = 0; i < sizeof(of->bytes); ++i) {
        of->bytes[i] = i >= header && i < first_component ? 0 : value;
    }
}

static bool is_untouched_behind(unsigned offset) {
    bool same = true;
    for (unsigned i = offset; i < sizeof(area.bytes); ++i) {
        same = same && area.bytes[i] == poison;
    }
    return same;
}

#define save(instruction)                                                                                    \
    asm volatile(instruction " %[area]" : [area] "+m"(area) : "a"(0xffffffff), "d"(0xffffffff))
#define load() asm volatile("xrstor64 %[image]" : : [image] "m"(image), "a"(0xffffffff), "d"(0xffffffff))
#define load_exception()                                                                                     \
    exception_of("xrstor64 %[image]", [image] "m"(image), "a"(0xffffffff), "d"(0xffffffff) : "memory")

static bool raises(const struct exception* exception, unsigned vector) {
    return exception->frame.vector == vector && exception->place == at_instruction;
}

/* An area to load: XMM0 and the upper half of YMM0 have a pattern. */
static void make_image(uint64_t components) {
    fill(&image, 0);
    *word(&image, 24) = 0x1f80; /* MXCSR */
    *word(&image, header) = components;
    *word(&image, xmm0) = 0x1122334455667788;
    *word(&image, first_component) = 0x99aabbccddeeff00;
}

static bool writes_what_is_selected(void) {
    fill(&area, poison);
    *word(&area, header) = avx;
    save("xsave64");
    const uint64_t components = *word(&area, header);
    return is_untouched_behind(first_component) && (components & ~UINT64_C(1)) == (2 | avx) &&
           *word(&area, xmm0) == 0x1122334455667788;
}

static bool optimized_writes_no_more(void) {
    fill(&area, poison);
    save("xsaveopt64");
    return is_untouched_behind(first_component) && (*word(&area, header) & ~UINT64_C(3)) == 0;
}

static bool keeps_avx(void) {
    make_image(2);
    *word(&image, xmm0) = 5;
    load();
    set(with_avx);
    fill(&area, poison);
    save("xsave64");
    set(x87_and_sse);
    return *word(&area, xmm0) == 5 && *word(&area, first_component) == 0x99aabbccddeeff00;
}

static bool initializes_what_is_absent(void) {
    make_image(0);
    load();
    fill(&area, poison);
    *word(&area, xmm0) = 0;
    save("xsave64");
    return *word(&area, xmm0) == 0;
}

/* The same with operands of other forms, in 32 and 64 bits; they give the flags and registers back. */
#define form(instruction, base, index)                                                                       \
    ({                                                                                                       \
        uint64_t a = ~UINT64_C(0), d = ~UINT64_C(0), b = (base), c = (index);                                \
        uint8_t carry;                                                                                       \
        fill(&area, poison);                                                                                 \
        asm volatile("stc\n" instruction "\n setc %[carry]"                                                  \
                     : "+a"(a), "+d"(d), "+b"(b), "+c"(c), [carry] "=r"(carry), "+m"(area));                 \
        a == ~UINT64_C(0) && d == ~UINT64_C(0) && b == (base) && c == (index) && carry == 1 &&               \
            *word(&area, xmm0) == 0x1122334455667788 && is_untouched_behind(first_component);                \
    })

static bool saves_by_any_operand(void) {
    make_image(x87_and_sse);
    load();
    const uint64_t place = (uintptr_t)&area;
    bool good = form("xsave64 (%%rbx)", place, 0);
    good = form("xsave 0x40(%%rbx,%%rcx,8)", place - 0x48, 1) && good;
    good = form("xsave64 -0x1000(%%rcx)", 0, place + 0x1000) && good;
    good = form("xsave64 area(%%rip)", 0, 0) && good;
    good = form("xsaveopt area", 0, 0) && good;
    struct {
        uint8_t bytes[first_component];
    } __attribute__((aligned(64))) on_stack;
    asm volatile("xsave64 %[area]" : [area] "=m"(on_stack) : "a"(-1), "d"(-1));
    return good && *(uint64_t*)(on_stack.bytes + xmm0) == 0x1122334455667788;
}

/* EDX:EAX is part of the address too. */
static bool saves_by_the_mask(void) {
    fill(&area, poison);
    const uint64_t place = (uintptr_t)&area;
    uint64_t a = 0xffffffff;
    asm volatile("xsave64 (%%rax,%%rbx)" : "+a"(a), "+m"(area) : "b"(place - 0xffffffff), "d"(-1));
    return a == 0xffffffff && is_untouched_behind(first_component);
}

static bool refuses_what_is_not_selected(void) {
    make_image(2 | avx);
    struct exception exception = load_exception();
    bool good = raises(&exception, vector_protection);
    make_image(2);
    *word(&image, header + 8) = UINT64_C(1) << 63 | 2;
    exception = load_exception();
    good = raises(&exception, vector_protection) && good;
    make_image(2);
    image.bytes[header + 16] = 1;
    exception = load_exception();
    return raises(&exception, vector_protection) && good;
}

static bool refuses_odd_addresses(void) {
    struct exception exception = exception_of("xsave64 32(%%rdi)", "D"(&area), "a"(-1), "d"(-1) : "memory");
    bool good = raises(&exception, vector_protection);
    exception = exception_of("xrstor64 32(%%rdi)", "D"(&image), "a"(-1), "d"(-1) : "memory");
    good = raises(&exception, vector_protection) && good;
    exception = exception_of("xsave64 (%%rdi)", "D"(UINT64_C(1) << 62), "a"(-1), "d"(-1) : "memory");
    return raises(&exception, vector_protection) && good;
}

static bool faults_at_the_instruction(void) {
    struct exception exception =
        exception_of("xsave64 (%%rdi)", "D"(unmapped), "a"(0x12345677), "d"(-1) : "memory");
    bool good = raises(&exception, vector_page_fault) && (exception.frame.error_code & 1) == 0 &&
                exception.cr2 >> 12 == unmapped >> 12 && exception.frame.rax == 0x12345677;
    exception = exception_of("xrstor64 (%%rdi)", "D"(unmapped), "a"(-1), "d"(-1) : "memory");
    return raises(&exception, vector_page_fault) && exception.cr2 >> 12 == unmapped >> 12 &&
           (exception.frame.error_code & 3) == 0 && good;
}

/* What comes next is an instruction that a VMM may reach by a jump, from which it learns no address. */
static bool keeps_registers_of_iret(void) {
    uint64_t a = ~UINT64_C(0), c = 0, d = ~UINT64_C(0);
    asm volatile("mov %%rsp, %%rcx\n"
                 "pushq %[data]\n push %%rcx\n pushq $2\n pushq %[code]\n pushq $1f\n"
                 "xsave64 (%%rdi)\n"
                 "mov $1, %%eax\n mov $2, %%ecx\n mov $3, %%edx\n"
                 "iretq\n"
                 "1:"
                 : "+a"(a), "+c"(c), "+d"(d)
                 : "D"(&area), [data] "i"(kernel_data), [code] "i"(kernel_code)
                 : "memory", "cc");
    return a == 1 && c == 2 && d == 3;
}

static volatile unsigned ticks;

static void tick(struct frame* frame) {
    (void)frame;
    ++ticks;
    end_of_interrupt(0);
}

static bool stands_interrupts(void) {
    bool good = true;
    make_image(x87_and_sse);
    load();
    quiet_timer();
    handlers[first_irq_vector] = tick;
    unmask_irq(0);
    start_periodic(period);
    enable_interrupts();
    while (ticks < ticks_wanted) {
        uint64_t a = 0xfffffff7, d = 0x123456789;
        asm volatile("xsave64 (%%rdi)\n xrstor64 (%%rsi)"
                     : "+a"(a), "+d"(d)
                     : "D"(&area), "S"(&image)
                     : "memory");
        good = good && a == 0xfffffff7 && d == 0x123456789;
    }
    disable_interrupts();
    return good && *word(&area, xmm0) == 0x1122334455667788 && is_untouched_behind(first_component);
}

static uint64_t step_places[8];
static unsigned steps;
extern const char behind_save[], behind_load[];

static void step(struct frame* frame) {
    step_places[steps++ % 8] = frame->rip;
    write_dr6(0);
}

/* The popf that sets TF, and two instructions; then pushq, popfq. */
static bool steps_behind_each(void) {
    handlers[vector_debug] = step;
    asm volatile("pushfq\n orq $0x100, (%%rsp)\n popfq\n"
                 "xsave64 (%%rdi)\n"
                 "behind_save: xrstor64 (%%rsi)\n"
                 "behind_load: pushq $2\n popfq"
                 :
                 : "D"(&area), "S"(&image), "a"(-1), "d"(-1)
                 : "memory", "cc");
    handlers[vector_debug] = 0;
    return step_places[0] == (uintptr_t)behind_save && step_places[1] == (uintptr_t)behind_load && steps == 4;
}

extern const char user_ask[], user_asked[], user_area[];
asm(".pushsection .user, \"aw\"\n"
    "user_ask: xor %ecx, %ecx\n"
    "	plain xgetbv\n"
    "	mov %rax, %rbx\n"
    "	mov $7, %eax\n" /* x87, SSE, AVX: the area has no room for all that a machine may have */
    "	xor %edx, %edx\n"
    "	plain xsave64 (%rdi)\n"
    "	plain int $0x80\n"
    "user_asked: .balign 64\n"
    "user_area: .fill 4096, 1, 0xa5\n"
    ".popsection");

static void check_user(void) {
    struct exception exception = {.frame = {.rbx = x87_and_sse}};
    const uint8_t* const written = (const uint8_t*)user_area;
    if (offered) {
        exception = run_user(user_ask, user_address(user_area));
    }
    check("user: XCR0", exception.frame.rbx == x87_and_sse);
    check("user: xsave writes what it selects", written[first_component] == poison);
}

/* With all that the processor offers, and with less again. */
static bool follows_xcr0(void) {
    set(cpuid(0xd, 0).a);
    make_image(with_avx);
    load();
    fill(&area, poison);
    save("xsave64");
    bool good = *word(&area, first_component) == 0x99aabbccddeeff00 && is_untouched_behind(cpuid(0xd, 0).b);
    make_image(UINT64_C(1) << 62);
    const struct exception exception = load_exception();
    good = raises(&exception, vector_protection) && good;
    set(x87_and_sse);
    fill(&area, poison);
    save("xsave64");
    return is_untouched_behind(first_component) && refuses_what_is_not_selected() && good;
}

void guest(void) {
    load_descriptor_tables();
    prepare_user();
    write_cr4(read_cr4() | cr4_fxsr | cr4_simd_exceptions);
    offered = (cpuid(1, 0).c & cpuid_xsave) && (cpuid(0xd, 0).a & avx);
    const bool has_saveopt = cpuid(0xd, 1).a & 1;
    const struct exception exception =
        exception_of("xsave64 %[area]", [area] "m"(area), "a"(-1), "d"(-1) : "memory");
    check("xsave without CR4.OSXSAVE", raises(&exception, vector_invalid_opcode));
    if (offered) {
        write_cr4(read_cr4() | cr4_osxsave);
        set(with_avx);
        make_image(with_avx);
        load();
        set(x87_and_sse);
    }
    check("xsave writes what XCR0 selects", !offered || writes_what_is_selected());
    check("xsaveopt writes no more", !offered || !has_saveopt || optimized_writes_no_more());
    check("xrstor leaves AVX alone", !offered || keeps_avx());
    check("xrstor initializes what is absent", !offered || initializes_what_is_absent());
    check("any operand", !offered || saves_by_any_operand());
    check("the mask as an address", !offered || saves_by_the_mask());
    check("xrstor of what XCR0 does not select", !offered || refuses_what_is_not_selected());
    check("unaligned and non-canonical", !offered || refuses_odd_addresses());
    check("page faults", !offered || faults_at_the_instruction());
    check("XCR0 changes", !offered || follows_xcr0());
    check("interrupts", !offered || stands_interrupts());
    check("an IRET behind it", !offered || keeps_registers_of_iret());
    check("single steps", !offered || steps_behind_each());
    check_user();
}
