/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 36
 *
 * IRET in long mode pops RIP, CS, RFLAGS, RSP and SS, all five also when the privilege level stays. It goes
 * to user mode in 64-bit and in compatibility mode. It faults at itself and with the stack as it was where NT
 * is set, where CS is null, not present, or no code segment of its RPL, and where SS does not fit CS; the
 * error code is the selector.
 *
 * Left out: RF; a non-canonical RIP (QEMU faults at the target, not at IRET); an SS that is not present (QEMU
 * raises #NP for #SS).
 */
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/registers.h"
#include "harness/user.h"

enum {
    not_present_code = spare_descriptors,
    beyond_limit = gdt_limit + 1,
};

/* IRETQ with this frame, from the innermost up: RIP, CS, RFLAGS, RSP, SS. */
struct iret_frame {
    uint64_t rip, cs, rflags, rsp, ss;
};

static struct exception iret_with(const struct iret_frame* frame) {
    return exception_at("pushq 32(%[frame])\n pushq 24(%[frame])\n pushq 16(%[frame])\n pushq 8(%[frame])\n"
                        "pushq 0(%[frame])",
                        "iretq", [frame] "r"(frame) : "memory", "cc");
}

static uint8_t other_stack[256] __attribute__((aligned(16)));

static void check_same_level(void) {
    const uint64_t given = flag_always_one | flag_interrupt | flag_carry | flag_zero | flag_overflow;
    uint64_t flags;
    uint64_t rsp;
    asm volatile(
        "mov %%rsp, %%rbx\n"
        "pushq %[ss]\n pushq %[stack]\n pushq %[given]\n pushq %[cs]\n pushq $1f\n"
        "iretq\n"
        "1: mov %%rsp, %[rsp]\n"
        "pushfq\n pop %[flags]\n"
        "mov %%rbx, %%rsp"
        : [flags] "=&r"(flags), [rsp] "=&r"(rsp)
        : [ss] "i"(kernel_data), [cs] "i"(kernel_code), [stack] "r"(other_stack + 128), [given] "r"(given)
        : "rbx", "memory", "cc");
    disable_interrupts();
    check_equal("same level: RFLAGS", flags, given);
    check_equal("same level: RSP", rsp, (uintptr_t)(other_stack + 128));
    asm volatile("mov %%rsp, %%rbx\n"
                 "pushq $0\n pushq %%rbx\n pushq $2\n pushq %[cs]\n pushq $1f\n"
                 "iretq\n"
                 "1: mov %%ss, %k[flags]\n"
                 "mov %k[data], %%ss"
                 : [flags] "=&r"(flags)
                 : [cs] "i"(kernel_code), [data] "r"(kernel_data)
                 : "rbx", "memory", "cc");
    check_equal("same level: SS may be null", flags, 0);
}

static void check_trap_flag(void) {
    const struct exception exception = exception_at(
        "mov %%rsp, %%rbx\n pushq %[ss]\n pushq %%rbx\n pushq $0x102\n pushq %[cs]\n pushq $10f\n iretq",
        "nop", [ss] "i"(kernel_data), [cs] "i"(kernel_code) : "rbx", "memory", "cc");
    check_exception("TF set by iret traps behind the next instruction", &exception, vector_debug, 0,
                    behind_instruction);
}

static void check_faults(void) {
    const uint64_t rip = (uintptr_t)check_faults;
    const struct {
        const char* what;
        struct iret_frame frame;
        unsigned vector;
        uint64_t error_code;
    } cases[] = {
        {"CS null", {rip, 0, 2, 0, kernel_data}, vector_protection, 0},
        {"CS beyond the limit", {rip, beyond_limit, 2, 0, kernel_data}, vector_protection, beyond_limit},
        {"CS a data segment", {rip, kernel_data, 2, 0, kernel_data}, vector_protection, kernel_data},
        {"CS not present", {rip, not_present_code, 2, 0, kernel_data}, vector_not_present, not_present_code},
        {"CS of DPL 3 with RPL 0",
         {rip, user_code & ~3, 2, 0, kernel_data},
         vector_protection,
         user_code & ~3},
        {"SS null for user mode", {rip, user_code, 2, 0, 0}, vector_protection, 0},
        {"SS of DPL 0 for user mode", {rip, user_code, 2, 0, kernel_data}, vector_protection, kernel_data},
        {"SS a code segment", {rip, user_code, 2, 0, user_code}, vector_protection, user_code & ~3},
        {"SS beyond the limit", {rip, user_code, 2, 0, beyond_limit | 3}, vector_protection, beyond_limit},
    };
    gdt[not_present_code / 8] = make_descriptor(0, 0xfffff, 0x1b, 0xa);
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        const struct exception exception = iret_with(&cases[i].frame);
        check_exception(cases[i].what, &exception, cases[i].vector, cases[i].error_code, at_instruction);
        check("and the frame is still on the stack",
              exception.frame.rsp + sizeof(struct iret_frame) == expectation.rsp &&
                  exception.frame.cs == kernel_code && exception.frame.ss == kernel_data);
    }
    const struct iret_frame good = {rip, kernel_code, 2, 0, kernel_data};
    write_flags(flag_always_one | flag_nested_task);
    const struct exception exception = iret_with(&good);
    write_flags(flag_always_one);
    check_exception("NT set", &exception, vector_protection, 0, at_instruction);
}

extern const char in_64_bits[], after_64_bits[], in_32_bits[], after_32_bits[];
asm(".pushsection .user, \"aw\"\n"
    "in_64_bits: mov %rsp, %rax\n"
    "	plain mov %cs, %ebx\n"
    "	plain mov %ss, %ecx\n"
    "	plain pushfq\n"
    "	pop %rdx\n"
    "	plain int $0x80\n"
    "after_64_bits:\n"
    ".code32\n"
    "in_32_bits: mov %esp, %eax\n"
    "	plain mov %cs, %ebx\n"
    "	push %edi\n"
    "	inc %edi\n" /* 64-bit code has a REX prefix there */
    "	mov %edi, %edx\n"
    "	pop %ecx\n"
    "	int $0x80\n"
    "after_32_bits:\n"
    ".code64\n"
    ".popsection");

static void check_user(void) {
    prepare_user();
    struct user_start start = start_of(in_64_bits, 0);
    start.rsp -= 64;
    start.rflags |= arithmetic_flags;
    struct exception exception = run_user_from(&start);
    check_user_exception("64-bit user code", &exception, user_exit, 0, after_64_bits);
    check_equal("RSP", exception.frame.rax, user_stack_top - 64);
    check_equal("CS", exception.frame.rbx, user_code);
    check_equal("SS", exception.frame.rcx, user_data);
    check_equal("RFLAGS", exception.frame.rdx, start.rflags);

    start = start_of(in_32_bits, 0x12345678);
    start.cs = user_code32;
    exception = run_user_from(&start);
    check_user_exception("32-bit user code", &exception, user_exit, 0, after_32_bits);
    check_equal("ESP", exception.frame.rax, user_stack_top);
    check_equal("CS", exception.frame.rbx, user_code32);
    check_equal("ECX", exception.frame.rcx, 0x12345678);
    check_equal("EDX", exception.frame.rdx, 0x12345679);
    check_equal("saved CS", exception.frame.cs, user_code32);
    check_equal("saved SS", exception.frame.ss, user_data);
    check_equal("saved RSP", exception.frame.rsp, user_stack_top);
}

void guest(void) {
    load_descriptor_tables();
    check_same_level();
    check_trap_flag();
    check_faults();
    check_user();
}
