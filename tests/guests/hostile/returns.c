/* SPDX-License-Identifier: BSD-2-Clause
 *
 * IRET and SYSRET to nonsense: each faults or arrives somewhere, and what arrives faults there.
 */
#include "hostile.h"

#include "harness/paging.h"
#include "harness/user.h"

struct iret_frame {
    uint64_t rip, cs, rflags, rsp, ss;
};

uint64_t resume_rsp;
extern const char resume[];

static void resume_kernel(struct frame* frame) {
    frame->rip = (uintptr_t)resume;
    frame->cs = kernel_code;
    frame->rflags = flag_always_one;
    frame->rsp = resume_rsp;
    frame->ss = kernel_data;
}

/* Both come back through resume_kernel alone. */
void return_with(const struct iret_frame* frame);
void sysret_with(uint64_t rip, uint64_t rsp);
asm("return_with:\n"
    "	push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n"
    "	mov %rsp, resume_rsp\n"
    "	pushq 32(%rdi)\n pushq 24(%rdi)\n pushq 16(%rdi)\n pushq 8(%rdi)\n pushq 0(%rdi)\n"
    "	iretq\n"
    "sysret_with:\n"
    "	push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n"
    "	mov %rsp, resume_rsp\n"
    "	mov %rdi, %rcx\n"
    "	mov %rsi, %rsp\n"
    "	mov $0x202, %r11d\n"
    "	sysretq\n"
    "resume:\n"
    "	pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n"
    "	ret\n");

asm(".pushsection .user, \"aw\"\n"
    "user_loop: ud2\n"
    ".popsection");
extern const char user_loop[];

static void take_all_vectors(void) {
    for (unsigned vector = 0; vector < 32; ++vector) {
        handlers[vector] = resume_kernel;
    }
}

static uint8_t spare_stack[4096] __attribute__((aligned(16)));

/* A kernel's RSP is always a stack; the rest is anything. */
static void iret_at_random(bool to_user) {
    prepare_user();
    take_all_vectors();
    uint64_t state = 88172645463325252;
    for (unsigned i = 0; i < 3000; ++i) {
        const uint64_t random = next_random(&state);
        static const uint16_t selectors[] = {
            0,    3,      kernel_code, kernel_data, user_code32, user_data, user_code, task_state,
            0x57, 0xfff8, 0xffff,      0xe033,      0xe02b,      0xe030,    user_code, user_data};
        struct iret_frame frame = {.rip = user_address(user_loop),
                                   .cs = selectors[random >> 4 & 15],
                                   .rflags = next_random(&state),
                                   .rsp = (uintptr_t)(spare_stack + sizeof spare_stack),
                                   .ss = selectors[random >> 8 & 15]};
        frame.cs = to_user ? frame.cs | 3 : frame.cs & ~UINT64_C(3);
        const uint64_t anything = next_random(&state);
        if (to_user) {
            frame.rsp = (random >> 12 & 3) == 0 ? anything : frame.rsp;
            frame.rip = (random >> 14 & 3) == 0 ? anything >> (random >> 58 & 31) : frame.rip;
        } else {
            frame.rip = (random >> 14 & 3) == 0 ? non_canonical : unmapped_area;
        }
        return_with(&frame);
    }
    check("iret comes back by an exception each time", true);
}

CASE iret_to_user(void) {
    iret_at_random(true);
}
CASE iret_to_kernel(void) {
    iret_at_random(false);
}

static void prepare_sysret(void) {
    prepare_user();
    write_msr(msr_efer, read_msr(msr_efer) | efer_syscall_enable);
    write_msr(msr_star, (uint64_t)(user_code32 & ~3) << 48 | (uint64_t)kernel_code << 32);
}

CASE sysret_non_canonical(void) {
    prepare_sysret();
    const struct exception exception =
        exception_of("sysretq", "c"(non_canonical), "r"((uint64_t)0) : "r11", "memory", "cc");
    check_equal("an exception", exception.frame.vector, vector_protection);
    check_equal("in the kernel", exception.frame.cs, kernel_code);
}

CASE sysret_stack_non_canonical(void) {
    prepare_sysret();
    take_all_vectors();
    sysret_with(user_address(user_loop), non_canonical);
    check("it comes back by an exception", true);
}

/* What is there is run with the guest's rights, and ends anywhere. */
CASE iret_into_vmm(void) {
    take_all_vectors();
    struct iret_frame frame = {.rip = vmm_image + 0x123,
                               .cs = kernel_code,
                               .rflags = 2,
                               .rsp = (uintptr_t)(spare_stack + sizeof spare_stack),
                               .ss = kernel_data};
    at_the_deed();
    return_with(&frame);
}

CASE iret_non_canonical_rip(void) {
    take_all_vectors();
    struct iret_frame frame = {.rip = non_canonical,
                               .cs = kernel_code,
                               .rflags = 2,
                               .rsp = (uintptr_t)(spare_stack + sizeof spare_stack),
                               .ss = kernel_data};
    return_with(&frame);
    check("iret to nowhere faults", true);
}

CASE jump_non_canonical(void) {
    const struct exception exception = exception_of("jmp *%[to]", [to] "r"(non_canonical) : "memory");
    check_equal("an exception", exception.frame.vector, vector_protection);
}

DEFINE_GUEST
