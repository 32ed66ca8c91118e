/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 20
 *
 * On which stack a frame is pushed. A gate with an IST index always takes that stack of the TSS, from the
 * kernel as from user mode; any other gate takes RSP0 from user mode and stays on the kernel's stack
 * otherwise. Stacks are aligned down to 16 bytes. The TSS is read when it is needed: a change counts from the
 * next time on. IRET leads back.
 */
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/registers.h"
#include "harness/user.h"

static uint8_t stacks[3][4096] __attribute__((aligned(16)));

static uint64_t top(unsigned stack) {
    return (uintptr_t)(stacks[stack] + sizeof stacks[stack]);
}

static void set_ist(unsigned vector, uint8_t index) {
    idt[vector].ist = index;
}

static void check_kernel(void) {
    set_ist(vector_invalid_opcode, 1);
    tss.ist[0] = top(0);
    struct exception exception = exception_of("ud2", : "memory");
    check_exception("IST 1 from the kernel", &exception, vector_invalid_opcode, 0, at_instruction);
    check_equal("the frame's place", exception.frame_end, top(0));
    check_equal("the saved RSP", exception.frame.rsp, expectation.rsp);
    tss.ist[0] = top(1);
    exception = exception_of("ud2", : "memory");
    check_equal("after a change of the TSS", exception.frame_end, top(1));
    tss.ist[0] = top(1) - 8;
    exception = exception_of("ud2", : "memory");
    check_equal("a stack that is not aligned", exception.frame_end, top(1) - 16);

    set_ist(vector_protection, 7);
    tss.ist[6] = top(2);
    exception = exception_of("mov (%[where]), %%al", [where] "r"(UINT64_C(1) << 63) : "rax", "memory");
    check_exception("IST 7, with an error code", &exception, vector_protection, 0, at_instruction);
    check_equal("the frame's place", exception.frame_end, top(2));

    set_ist(vector_invalid_opcode, 0);
    exception = exception_of("ud2", : "memory");
    check_exception("without IST", &exception, vector_invalid_opcode, 0, at_instruction);
    check("the frame is on the kernel's stack", expectation.rsp - exception.frame_end < 16);
}

/* A fault in the handler of another, each with a stack of its own. */
static void fault_again(struct frame* frame) {
    handlers[frame->vector] = 0;
    struct exception inner = exception_of("ud2", : "memory");
    check_exception("a fault in a handler on IST 2", &inner, vector_invalid_opcode, 0, at_instruction);
    check_equal("its frame's place", inner.frame_end, top(0));
    check("it interrupted IST 2's stack",
          inner.frame.rsp > top(1) - sizeof stacks[1] && inner.frame.rsp < top(1));
}

static void check_nested(void) {
    set_ist(vector_breakpoint, 2);
    set_ist(vector_invalid_opcode, 1);
    tss.ist[1] = top(1);
    tss.ist[0] = top(0);
    handlers[vector_breakpoint] = fault_again;
    uint64_t before;
    uint64_t after;
    asm volatile("mov %%rsp, %[before]\n int3\n mov %%rsp, %[after]"
                 : [before] "=&r"(before), [after] "=r"(after)
                 :
                 : "memory");
    check_equal("RSP behind both", after, before);
    set_ist(vector_breakpoint, 0);
}

extern const char user_stop[], user_stopped[], user_invalid[];
asm(".pushsection .user, \"aw\"\n"
    "user_stop: plain int $0x80\n"
    "user_stopped:\n"
    "user_invalid: ud2\n"
    ".popsection");

static void check_user(void) {
    prepare_user();
    struct exception exception = run_user(user_stop, 0);
    check_user_exception("from user mode", &exception, user_exit, 0, user_stopped);
    check_equal("the frame is on RSP0's stack", exception.frame_end, tss.rsp[0]);
    tss.rsp[0] = top(2);
    exception = run_user(user_stop, 0);
    check_equal("after a change of RSP0", exception.frame_end, top(2));
    exception = run_user(user_invalid, 0);
    check_user_exception("IST 1 from user mode", &exception, vector_invalid_opcode, 0, user_invalid);
    check_equal("the frame's place", exception.frame_end, top(0));
    check_equal("the saved RSP", exception.frame.rsp, user_stack_top);
    check_equal("the saved SS", exception.frame.ss, user_data);
}

void guest(void) {
    load_descriptor_tables();
    check_kernel();
    check_nested();
    check_user();
}
