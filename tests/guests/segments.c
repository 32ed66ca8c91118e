/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 91
 *
 * Segment registers and what asks about descriptors. DS, ES, FS and GS take null with any RPL and present
 * data; SS takes null in 64-bit code of CPL 0 too. LAR, LSL, VERR and VERW set ZF where the selector may be
 * seen from here, and leave the destination alone where it may not. SGDT, SIDT, SLDT and STR give what LGDT,
 * LIDT, LLDT and LTR were given; LTR marks the TSS busy.
 */
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/registers.h"
#include "harness/user.h"

enum {
    not_present_data = spare_descriptors,
    read_only_data = spare_descriptors + 8,
    small_data = spare_descriptors + 16,
    beyond_limit = gdt_limit + 1,
};

static void check_loads(void) {
    static const uint16_t selectors[] = {0, 3, kernel_data, user_data, user_data & ~3, read_only_data};
    gdt[read_only_data / 8] = make_descriptor(0, 0xfffff, 0x91, 0xc);
    for (unsigned i = 0; i < sizeof selectors / sizeof selectors[0]; ++i) {
        write_ds(selectors[i]);
        check_equal("DS", read_ds(), selectors[i]);
        write_es(selectors[i]);
        check_equal("ES", read_es(), selectors[i]);
        write_fs(selectors[i]);
        check_equal("FS", read_fs(), selectors[i]);
        write_gs(selectors[i]);
        check_equal("GS", read_gs(), selectors[i]);
    }
    write_ss(0);
    check_equal("SS is null", read_ss(), 0);
    write_ss(kernel_data);
    check_equal("SS", read_ss(), kernel_data);
    struct exception exception = exception_of("mov %[selector], %%ss", [selector] "r"(read_only_data) :);
    check_exception("mov ss: read-only", &exception, vector_protection, read_only_data, at_instruction);
    exception = exception_of("mov %[selector], %%gs", [selector] "r"(task_state) :);
    check_exception("mov gs: a TSS", &exception, vector_protection, task_state, at_instruction);
}

/* Of a register that held ones: 16 bits keep the upper ones, 32 and 64 bits clear them. No flag changes. */
#define IS_READ(segment, part, whole, expected)                                                              \
    ({                                                                                                       \
        uint64_t read_;                                                                                      \
        bool carry_;                                                                                         \
        asm volatile("mov $-1, %%" whole "\n stc\n mov %%" segment ", %%" part "\n mov %%" whole ", %[read]" \
                     : [read] "=m"(read_), "=@ccc"(carry_)                                                   \
                     :                                                                                       \
                     : whole);                                                                               \
        (uint64_t)(carry_ && read_ == (expected));                                                           \
    })
#define ARE_SHORT_READ(segment, selector)                                                                    \
    (IS_READ(segment, "ax", "rax", (selector) | upper_ones) +                                                \
     IS_READ(segment, "cx", "rcx", (selector) | upper_ones) +                                                \
     IS_READ(segment, "dx", "rdx", (selector) | upper_ones) +                                                \
     IS_READ(segment, "bx", "rbx", (selector) | upper_ones) +                                                \
     IS_READ(segment, "si", "rsi", (selector) | upper_ones) +                                                \
     IS_READ(segment, "di", "rdi", (selector) | upper_ones) +                                                \
     IS_READ(segment, "r8w", "r8", (selector) | upper_ones) +                                                \
     IS_READ(segment, "r12w", "r12", (selector) | upper_ones) +                                              \
     IS_READ(segment, "r15w", "r15", (selector) | upper_ones))
#define ARE_LONG_READ(segment, selector)                                                                     \
    (IS_READ(segment, "eax", "rax", selector) + IS_READ(segment, "ecx", "rcx", selector) +                   \
     IS_READ(segment, "rdx", "rdx", selector) + IS_READ(segment, "ebx", "rbx", selector) +                   \
     IS_READ(segment, "rsi", "rsi", selector) + IS_READ(segment, "edi", "rdi", selector) +                   \
     IS_READ(segment, "r8d", "r8", selector) + IS_READ(segment, "rcx", "rcx", selector) +                    \
     IS_READ(segment, "r15", "r15", selector))

static void check_reads(void) {
    static const uint16_t selectors[] = {kernel_data, user_data};
    const uint64_t upper_ones = ~UINT64_C(0xffff);
    const uint64_t all = 9;
    for (unsigned i = 0; i < sizeof selectors / sizeof selectors[0]; ++i) {
        const uint64_t selector = selectors[i];
        write_ds(selectors[i]);
        write_es(selectors[i]);
        write_fs(selectors[i]);
        write_gs(selectors[i]);
        check_equal("ES in 16 bits", ARE_SHORT_READ("es", selector), all);
        check_equal("DS in 16 bits", ARE_SHORT_READ("ds", selector), all);
        check_equal("FS in 16 bits", ARE_SHORT_READ("fs", selector), all);
        check_equal("GS in 16 bits", ARE_SHORT_READ("gs", selector), all);
        check_equal("ES in more", ARE_LONG_READ("es", selector), all);
        check_equal("DS in more", ARE_LONG_READ("ds", selector), all);
        check_equal("FS in more", ARE_LONG_READ("fs", selector), all);
        check_equal("GS in more", ARE_LONG_READ("gs", selector), all);
    }
    check_equal("CS in 16 bits", ARE_SHORT_READ("cs", (uint64_t)kernel_code), all);
    check_equal("SS in 16 bits", ARE_SHORT_READ("ss", (uint64_t)kernel_data), all);
}

static void check_stack(void) {
    uint64_t value;
    uint64_t moved;
    write_fs(user_data);
    asm volatile("push %%fs\n pop %[value]" : [value] "=r"(value) : : "memory");
    check_equal("push fs", value, user_data);
    asm volatile("push %[value]\n pop %%gs" : : [value] "r"((uint64_t)kernel_data) : "memory");
    check_equal("pop gs", read_gs(), kernel_data);
    asm volatile("mov %%rsp, %[moved]\n pushw %%fs\n sub %%rsp, %[moved]\n popw %%gs"
                 : [moved] "=&r"(moved)
                 :
                 : "memory", "cc");
    check_equal("pushw fs moves RSP by 2", moved, 2);
    check_equal("popw gs", read_gs(), user_data);
    struct exception exception =
        exception_at("push %[value]", "pop %%fs", [value] "r"((uint64_t)beyond_limit) : "memory");
    check_exception("pop fs: beyond the limit", &exception, vector_protection, beyond_limit, at_instruction);
    check_equal("RSP is as before the pop", exception.frame.rsp, expectation.rsp - 8);
    check_equal("FS is what it was", read_fs(), user_data);
}

static void check_far_pointers(void) {
    static const struct __attribute__((packed)) {
        uint32_t offset;
        uint16_t selector;
    } pointer = {0x12345678, kernel_data};
    uint32_t offset;
    asm volatile("lfsl %[pointer], %[offset]" : [offset] "=r"(offset) : [pointer] "m"(pointer));
    check_equal("lfs: offset", offset, pointer.offset);
    check_equal("lfs: FS", read_fs(), kernel_data);
    asm volatile("lgsl %[pointer], %[offset]" : [offset] "=r"(offset) : [pointer] "m"(pointer));
    check_equal("lgs: offset", offset, pointer.offset);
    check_equal("lgs: GS", read_gs(), kernel_data);
}

#define ASK(mnemonic, selector)                                                                              \
    ({                                                                                                       \
        uint64_t value_ = 0xabcdef;                                                                          \
        bool zero_;                                                                                          \
        asm volatile(mnemonic " %k[asked], %k[value]"                                                        \
                     : "=@ccz"(zero_), [value] "+r"(value_)                                                  \
                     : [asked] "r"((uint64_t)(selector)));                                                   \
        (zero_ ? UINT64_C(1) << 63 : 0) | value_;                                                            \
    })
#define VERIFY(mnemonic, selector)                                                                           \
    ({                                                                                                       \
        bool zero_;                                                                                          \
        asm volatile(mnemonic " %w[asked]" : "=@ccz"(zero_) : [asked] "r"((uint64_t)(selector)));            \
        zero_;                                                                                               \
    })
/* Of LAR's result, without bits 19 to 16, which the manual leaves undefined. */
#define ASK_RIGHTS(selector) (ASK("lar", selector) & ~(uint64_t)0xf0000)
#define SEEN (UINT64_C(1) << 63)
#define UNSEEN 0xabcdef

static void check_questions(void) {
    gdt[not_present_data / 8] = make_descriptor(0, 0xfffff, 0x13, 0xc);
    gdt[small_data / 8] = make_descriptor(0, 0x12345, 0x93, 0x4);
    check_equal("lar: kernel's code", ASK_RIGHTS(kernel_code), SEEN | 0xa09b00);
    check_equal("lar: kernel's data", ASK_RIGHTS(kernel_data), SEEN | 0xc09300);
    check_equal("lar: user's data", ASK_RIGHTS(user_data), SEEN | 0xc0f300);
    check_equal("lar: not present", ASK_RIGHTS(not_present_data), SEEN | 0xc01300);
    check_equal("lar: busy TSS", ASK_RIGHTS(task_state), SEEN | 0x008b00);
    check_equal("lar: RPL above DPL", ASK("lar", kernel_data | 3), UNSEEN);
    check_equal("lar: null", ASK("lar", 0), UNSEEN);
    check_equal("lar: beyond the limit", ASK("lar", beyond_limit), UNSEEN);
    check_equal("lsl: in pages", ASK("lsl", kernel_data), SEEN | 0xffffffff);
    check_equal("lsl: in bytes", ASK("lsl", small_data), SEEN | 0x12345);
    check_equal("lsl: TSS", ASK("lsl", task_state), SEEN | (sizeof tss - 1));
    check_equal("lsl: null", ASK("lsl", 0), UNSEEN);
    check_equal("verr: data", VERIFY("verr", kernel_data), true);
    check_equal("verr: readable code", VERIFY("verr", kernel_code), true);
    check_equal("verr: null", VERIFY("verr", 0), false);
    check_equal("verr: TSS", VERIFY("verr", task_state), false);
    check_equal("verw: data", VERIFY("verw", kernel_data), true);
    check_equal("verw: read-only data", VERIFY("verw", read_only_data), false);
    check_equal("verw: code", VERIFY("verw", kernel_code), false);
    check_equal("verw: RPL above DPL", VERIFY("verw", kernel_data | 3), false);
}

static void check_tables(void) {
    struct table_pointer pointer;
    uint32_t selector;
    asm volatile("sgdt %[pointer]" : [pointer] "=m"(pointer));
    check("sgdt", pointer.limit == sizeof gdt - 1 && pointer.base == (uintptr_t)gdt);
    asm volatile("sidt %[pointer]" : [pointer] "=m"(pointer));
    check("sidt", pointer.limit == sizeof idt - 1 && pointer.base == (uintptr_t)idt);
    asm volatile("str %[selector]" : [selector] "=r"(selector));
    check_equal("str", selector, task_state);
    check_equal("the TSS is busy", gdt[task_state / 8] >> 40 & 0xff, 0x8b);
    asm volatile("lldt %w[selector]" : : [selector] "r"(0));
    asm volatile("sldt %[selector]" : [selector] "=r"(selector));
    check_equal("sldt", selector, 0);
    struct exception exception = exception_of("ltr %w[selector]", [selector] "r"(task_state) :);
    check_exception("ltr: busy", &exception, vector_protection, task_state, at_instruction);

    const struct table_pointer shorter = {user_code | 7, (uintptr_t)gdt};
    const struct table_pointer full = {sizeof gdt - 1, (uintptr_t)gdt};
    asm volatile("lgdt %[pointer]" : : [pointer] "m"(shorter));
    asm volatile("sgdt %[pointer]" : [pointer] "=m"(pointer));
    check_equal("a shorter GDT: sgdt", pointer.limit, shorter.limit);
    exception = exception_of("mov %[selector], %%es", [selector] "r"(small_data) :);
    check_exception("mov es: beyond it", &exception, vector_protection, small_data, at_instruction);
    asm volatile("lgdt %[pointer]" : : [pointer] "m"(full));
    write_es(small_data);
    check_equal("mov es: within it again", read_es(), small_data);
}

extern const char user_segments[], user_segments_done[], user_load[];
asm(".pushsection .user, \"aw\"\n"
    "user_segments: plain mov %rdi, %es\n"
    "	plain mov %es, %eax\n"
    "	plain mov %cs, %ebx\n"
    "	plain int $0x80\n"
    "user_segments_done:\n"
    "user_load: plain mov %rdi, %ds\n"
    "	plain int $0x80\n"
    ".popsection");

static void check_user(void) {
    prepare_user();
    struct exception exception = run_user(user_segments, user_data);
    check_user_exception("user: loads and reads", &exception, user_exit, 0, user_segments_done);
    check_equal("user: ES", exception.frame.rax, user_data);
    check_equal("user: CS", exception.frame.rbx, user_code);
    exception = run_user(user_load, kernel_data);
    check_user_exception("user: mov ds: the kernel's data", &exception, vector_protection, kernel_data,
                         user_load);
    exception = run_user(user_load, not_present_data | 3);
    check_user_exception("user: mov ds: DPL 0, not present", &exception, vector_protection, not_present_data,
                         user_load);
}

void guest(void) {
    load_descriptor_tables();
    check_loads();
    check_reads();
    check_stack();
    check_far_pointers();
    check_questions();
    check_tables();
    check_user();
}
