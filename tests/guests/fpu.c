/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 14
 *
 * x87 and SSE. Their registers outlive interrupts, in the kernel and in user mode. CR0.TS makes their use
 * #NM, which is how a kernel learns who uses them; WAIT counts as a use since CR0.MP is set. An unmasked x87
 * error is #MF at the next WAIT.
 *
 * Left out: #XM, which QEMU does not raise, and #MF at other x87 instructions, some of which QEMU lets by.
 */
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/pic.h"
#include "harness/registers.h"
#include "harness/timer.h"
#include "harness/user.h"

enum { period = 1193, ticks_wanted = 10 };

struct fxsave_area {
    uint16_t fcw, fsw;
    uint8_t ftw, reserved0;
    uint16_t fop;
    uint64_t fip, fdp;
    uint32_t mxcsr, mxcsr_mask;
    uint64_t st[8][2];
    uint64_t xmm[16][2];
    uint64_t reserved1[12];
} __attribute__((aligned(16)));

static struct fxsave_area pattern, saved;
static volatile unsigned ticks;

static void tick(struct frame* frame) {
    (void)frame;
    ++ticks;
    end_of_interrupt(0);
}

static void fill_pattern(void) {
    pattern.fcw = 0x37f;
    pattern.fsw = 0x1800; /* top is 3 */
    pattern.ftw = 0xff;
    pattern.mxcsr = 0x1f80;
    for (uint64_t i = 0; i < 8; ++i) {
        pattern.st[i][0] = 0x8000000000000000 | (i + 1) * 0x0102030405060708;
        pattern.st[i][1] = 0x3fff + i;
    }
    for (uint64_t i = 0; i < 16; ++i) {
        pattern.xmm[i][0] = (i + 1) * 0x1111111111111111;
        pattern.xmm[i][1] = ~pattern.xmm[i][0];
    }
}

/* All but the pointers to the last instruction, which processors keep differently. */
static bool same_state(void) {
    bool same = saved.fcw == pattern.fcw && saved.fsw == pattern.fsw && saved.ftw == pattern.ftw &&
                saved.mxcsr == pattern.mxcsr;
    for (unsigned i = 0; i < 8; ++i) {
        same = same && saved.st[i][0] == pattern.st[i][0] && (uint16_t)saved.st[i][1] == pattern.st[i][1];
    }
    for (unsigned i = 0; i < 16; ++i) {
        same = same && saved.xmm[i][0] == pattern.xmm[i][0] && saved.xmm[i][1] == pattern.xmm[i][1];
    }
    return same;
}

static void save(void) {
    asm volatile("fxsave64 %[saved]" : [saved] "=m"(saved));
}

static void load_pattern(void) {
    asm volatile("fxrstor64 %[pattern]" : : [pattern] "m"(pattern) : "memory");
}

static void check_kernel(void) {
    load_pattern();
    save();
    check("fxrstor and fxsave", same_state());
    ticks = 0;
    start_periodic(period);
    enable_interrupts();
    while (ticks < ticks_wanted) {
    }
    disable_interrupts();
    save();
    check("interrupts keep the state", same_state());
}

extern const char user_spin[], user_spun[], user_use[], user_used[];
asm(".pushsection .user, \"aw\"\n"
    "user_spin: mov $200000, %ecx\n"
    "1:	dec %ecx\n"
    "	jnz 1b\n"
    "	plain int $0x80\n"
    "user_spun:\n"
    "user_use: movq %rdi, %xmm7\n"
    "	movq %xmm7, %rax\n"
    "	plain int $0x80\n"
    "user_used:\n"
    ".popsection");

static void check_user(void) {
    bool good = true;
    load_pattern();
    ticks = 0;
    while (ticks < ticks_wanted) {
        const struct exception exception = run_user(user_spin, 0);
        good = good && exception.frame.rip == user_address(user_spun);
    }
    save();
    check("user mode and its interrupts keep the state", good && same_state());
    write_cr0(read_cr0() | cr0_task_switched);
    struct exception exception = run_user(user_use, 0x1234);
    check_user_exception("user: TS set", &exception, vector_no_device, 0, user_use);
    check_equal("TS is still set", read_cr0() & cr0_task_switched, cr0_task_switched);
    asm volatile("clts" : : : "memory");
    exception = run_user(user_use, 0x1234);
    check_user_exception("user: TS clear", &exception, user_exit, 0, user_used);
    check_equal("XMM7", exception.frame.rax, 0x1234);
}

static void check_task_switched(void) {
    write_cr0(read_cr0() | cr0_task_switched);
    struct exception exception = exception_of("fnop", : "memory");
    check_exception("TS: x87", &exception, vector_no_device, 0, at_instruction);
    exception = exception_of("movaps %%xmm1, %%xmm2", : "memory");
    check_exception("TS: SSE", &exception, vector_no_device, 0, at_instruction);
    exception = exception_of("fxsave64 %[saved]", [saved] "m"(saved) : "memory");
    check_exception("TS: fxsave", &exception, vector_no_device, 0, at_instruction);
    exception = exception_of("fwait", : "memory");
    check_exception("TS and MP: fwait", &exception, vector_no_device, 0, at_instruction);
    asm volatile("clts" : : : "memory");
    exception = exception_of("fnop", : "memory");
    check_exception("after clts: x87", &exception, no_exception, 0, at_instruction);
}

static void check_errors(void) {
    static const uint16_t unmask_all = 0x340;
    write_cr0(read_cr0() | cr0_numeric_error);
    asm volatile("fninit\n fldcw %[control]\n fld1\n fldz\n fdivrp" : : [control] "m"(unmask_all) : "memory");
    const struct exception exception = exception_of("fwait", : "memory");
    check_exception("a division by zero: fwait", &exception, vector_x87, 0, at_instruction);
    uint16_t status;
    asm volatile("fnstsw %[status]\n fnclex\n fwait" : [status] "=a"(status) : : "memory");
    check_equal("its status: zero divide, error summary", status & 0x84, 0x84);
}

void guest(void) {
    load_descriptor_tables();
    prepare_user();
    quiet_timer();
    handlers[first_irq_vector] = tick;
    unmask_irq(0);
    write_cr0((read_cr0() | cr0_numeric_error | cr0_monitor) & ~(uint64_t)cr0_emulation);
    write_cr4(read_cr4() | cr4_fxsr | cr4_simd_exceptions);
    asm volatile("fninit" : : : "memory");
    fill_pattern();
    check_kernel();
    check_user();
    check_task_switched();
    check_errors();
}
