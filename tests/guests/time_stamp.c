/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 6
 *
 * The time-stamp counter never falls, and RDTSC clears the upper halves of RAX and RDX. With CR4.TSD set user
 * mode may not read it, the kernel may.
 *
 * Left out: the counter as MSR 0x10, which QEMU's TCG does not have.
 */
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/registers.h"
#include "harness/user.h"

enum { cr4_time_stamp_disable = 1 << 2 };

static uint64_t read_time_stamp(void) {
    uint64_t low = UINT64_MAX;
    uint64_t high = UINT64_MAX;
    asm volatile("rdtsc" : "+a"(low), "+d"(high) : : "memory");
    return high << 32 | low;
}

extern const char user_read[], user_done[];
asm(".pushsection .user, \"aw\"\n"
    "user_read: plain rdtsc\n"
    "	plain int $0x80\n"
    "user_done:\n"
    ".popsection");

static void check_user(void) {
    struct exception exception = run_user(user_read, 0);
    check_user_exception("user: rdtsc", &exception, user_exit, 0, user_done);
    write_cr4(read_cr4() | cr4_time_stamp_disable);
    exception = run_user(user_read, 0);
    check_user_exception("user: rdtsc, TSD set", &exception, vector_protection, 0, user_read);
    exception = exception_of("rdtsc", : "rax", "rdx");
    check_exception("kernel: rdtsc, TSD set", &exception, no_exception, 0, at_instruction);
    write_cr4(read_cr4() & ~(uint64_t)cr4_time_stamp_disable);
    exception = run_user(user_read, 0);
    check_user_exception("user: rdtsc, TSD clear", &exception, user_exit, 0, user_done);
}

void guest(void) {
    load_descriptor_tables();
    prepare_user();
    bool rises = true;
    uint64_t last = 0;
    for (unsigned i = 0; i < 1000; ++i) {
        const uint64_t now = read_time_stamp();
        rises = rises && now >= last;
        last = now;
    }
    check("the counter never falls", rises);
    uint64_t low = UINT64_MAX;
    uint64_t high = UINT64_MAX;
    asm volatile("rdtsc" : "+a"(low), "+d"(high));
    check("upper halves are cleared", !((low | high) >> 32));
    check_user();
}
