/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 17
 *
 * User mode's ports. IN, OUT and their string forms are allowed where IOPL is 3, or where the TSS has a zero
 * bit for each port of the access; the bit map ends with the TSS's limit, and what is beyond it is refused.
 * With IOPL 3 user mode may also use CLI and STI; POPF then changes IF, but never IOPL.
 */
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/ports.h"
#include "harness/registers.h"
#include "harness/uart.h"
#include "harness/user.h"

enum { map_bytes = 0x400 / 8, access_tss = 0x89 };

/* The TSS, the bits of ports 0 to 0x3ff, and the byte of ones that has to follow. */
static struct {
    struct task_state_segment tss;
    uint8_t map[map_bytes];
    uint8_t end;
} __attribute__((packed, aligned(4096))) task;

extern const char user_out[], user_done[], user_wide[], user_flags[], user_flags_done[], user_cli[];
asm(".pushsection .user, \"aw\"\n"
    "user_out: mov %edi, %edx\n"
    "	mov $0x77, %eax\n"
    "1:	plain out %al, %dx\n"
    "	plain in %dx, %al\n"
    "	plain int $0x80\n"
    "user_done:\n"
    ".set user_out_instruction, 1b\n"
    "user_wide: mov %edi, %edx\n"
    "2:	plain in %dx, %ax\n"
    "	plain int $0x80\n"
    ".set user_wide_instruction, 2b\n"
    "user_flags: plain cli\n"
    "	plain sti\n"
    "	plain pushq $0x202\n"
    "	plain popfq\n"
    "	plain int $0x80\n"
    "user_flags_done:\n"
    "user_cli: plain cli\n"
    ".popsection");
extern const char user_out_instruction[], user_wide_instruction[];

static void allow(uint16_t port, bool allowed) {
    const uint8_t bit = (uint8_t)(1 << port % 8);
    task.map[port / 8] = (uint8_t)(allowed ? task.map[port / 8] & ~bit : task.map[port / 8] | bit);
}

static void check_allowed(const char* what, uint64_t iopl) {
    struct user_start start = start_of(user_out, uart_scratch);
    out8(uart_scratch, 0);
    start.rflags |= iopl;
    const struct exception exception = run_user_from(&start);
    check_user_exception(what, &exception, user_exit, 0, user_done);
    check_equal("what it wrote", in8(uart_scratch), 0x77);
    check_equal("what it read", exception.frame.rax & 0xff, 0x77);
}

static void check_refused(const char* what, uint16_t port) {
    const struct exception exception = run_user(user_out, port);
    check_user_exception(what, &exception, vector_protection, 0, user_out_instruction);
}

static void load_task(uint32_t limit) {
    task.tss = tss;
    task.tss.io_map_base = sizeof task.tss;
    set_system_descriptor(task_state, &task, limit, access_tss);
    asm volatile("ltr %w[task]" : : [task] "r"((uint16_t)task_state) : "memory");
}

static void check_map(void) {
    for (unsigned i = 0; i < map_bytes; ++i) {
        task.map[i] = 0xff;
    }
    task.end = 0xff;
    load_task(sizeof task - 1);
    check_refused("the bit is one: refused", uart_scratch);
    allow(uart_scratch, true);
    check_allowed("the bit is zero: allowed", 0);
    check_refused("the port beside it: refused", uart_modem_status);
    struct exception exception = run_user(user_wide, uart_modem_status);
    check_user_exception("a word that reaches from it: refused", &exception, vector_protection, 0,
                         user_wide_instruction);
    check_refused("a port beyond the limit: refused", 0x8000);
    allow(uart_scratch, false);
    check_refused("the bit is one again: refused", uart_scratch);
    allow(uart_scratch, true);
    load_task(sizeof task.tss - 1);
    check_refused("a TSS without a map: refused", uart_scratch);
}

static void check_level(void) {
    struct user_start start = start_of(user_flags, 0);
    start.rflags |= flag_iopl;
    struct exception exception = run_user_from(&start);
    check_user_exception("IOPL 3: cli, sti, popf", &exception, user_exit, 0, user_flags_done);
    check_equal("IOPL is what it was", exception.frame.rflags & flag_iopl, flag_iopl);
    check_equal("IF is set", exception.frame.rflags & flag_interrupt, flag_interrupt);
    exception = run_user(user_cli, 0);
    check_user_exception("IOPL 0: cli", &exception, vector_protection, 0, user_cli);
}

void guest(void) {
    load_descriptor_tables();
    prepare_user();
    check_refused("IOPL 0, no map: refused", uart_scratch);
    check_allowed("IOPL 3: allowed", flag_iopl);
    check_map();
    check_level();
}
