/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 31
 *
 * The bases of FS and GS: MSRs FS_BASE, GS_BASE and KERNEL_GS_BASE, SWAPGS, which exchanges the last two and
 * is #GP in user mode, and descriptors that bring a base with them. A base that is not canonical is #GP.
 * RDFSBASE and kin read and write the same registers where CPUID offers them; their lines are optional.
 *
 * Left out: the base after a null selector is loaded (vendors differ).
 */
#include "harness/check.h"
#include "harness/console.h"
#include "harness/descriptors.h"
#include "harness/registers.h"
#include "harness/user.h"

enum { based_data = spare_descriptors };

static uint64_t first[2] = {0x1111, 0x1112};
static uint64_t second[2] = {0x2222, 0x2223};

static uint64_t load_fs(void) {
    uint64_t value;
    asm volatile("mov %%fs:8, %[value]" : [value] "=r"(value) : : "memory");
    return value;
}

static uint64_t load_gs(void) {
    uint64_t value;
    asm volatile("mov %%gs:8, %[value]" : [value] "=r"(value) : : "memory");
    return value;
}

static void check_bases(void) {
    write_msr(msr_fs_base, (uintptr_t)first);
    check_equal("FS_BASE", read_msr(msr_fs_base), (uintptr_t)first);
    check_equal("a load through FS", load_fs(), first[1]);
    write_msr(msr_gs_base, (uintptr_t)second);
    check_equal("GS_BASE", read_msr(msr_gs_base), (uintptr_t)second);
    check_equal("a load through GS", load_gs(), second[1]);
    check_equal("FS is what it was", load_fs(), first[1]);
    write_msr(msr_kernel_gs_base, 0xffff800000000000);
    check_equal("KERNEL_GS_BASE, in the upper half", read_msr(msr_kernel_gs_base), 0xffff800000000000);
}

static void check_swapgs(void) {
    write_msr(msr_gs_base, (uintptr_t)first);
    write_msr(msr_kernel_gs_base, (uintptr_t)second);
    asm volatile("swapgs" : : : "memory");
    check_equal("swapgs: a load through GS", load_gs(), second[1]);
    check_equal("GS_BASE", read_msr(msr_gs_base), (uintptr_t)second);
    check_equal("KERNEL_GS_BASE", read_msr(msr_kernel_gs_base), (uintptr_t)first);
    asm volatile("swapgs" : : : "memory");
    check_equal("and back: a load through GS", load_gs(), first[1]);
    check_equal("GS_BASE", read_msr(msr_gs_base), (uintptr_t)first);
    check_equal("KERNEL_GS_BASE", read_msr(msr_kernel_gs_base), (uintptr_t)second);
}

static void check_descriptor(void) {
    gdt[based_data / 8] = make_descriptor((uint32_t)(uintptr_t)second, 0xfffff, 0x93, 0xc);
    write_fs(based_data);
    check_equal("a descriptor's base in FS", load_fs(), second[1]);
    check_equal("FS_BASE", read_msr(msr_fs_base), (uintptr_t)second);
    check_equal("FS", read_fs(), based_data);
    write_gs(based_data);
    check_equal("a descriptor's base in GS", load_gs(), second[1]);
    check_equal("GS_BASE", read_msr(msr_gs_base), (uintptr_t)second);
    write_gs(0);
    write_fs(0);
    check_equal("FS is null", read_fs(), 0);
    check_equal("GS is null", read_gs(), 0);
    write_msr(msr_fs_base, (uintptr_t)first);
    check_equal("a base under a null selector", load_fs(), first[1]);
}

extern const char user_swapgs[], user_gs[], user_gs_done[], user_bases[];
asm(".pushsection .user, \"aw\"\n"
    "user_swapgs: plain swapgs\n"
    "user_gs: mov %gs:0, %rax\n"
    "	mov %fs:8, %rbx\n"
    "	plain int $0x80\n"
    "user_gs_done:\n"
    ".balign 16\n"
    "user_bases: .quad 0x3333, 0x4444\n"
    ".popsection");

static void check_user(void) {
    struct exception exception = run_user(user_swapgs, 0);
    check_user_exception("user: swapgs", &exception, vector_protection, 0, user_swapgs);
    write_msr(msr_gs_base, (uintptr_t)first);
    for (unsigned i = 0; i < 2; ++i) {
        write_msr(msr_kernel_gs_base, user_address(user_bases));
        write_msr(msr_fs_base, user_address(user_bases));
        asm volatile("swapgs" : : : "memory");
        exception = run_user(user_gs, 0);
        check_equal("an interrupt from user mode leaves GS_BASE", read_msr(msr_gs_base),
                    user_address(user_bases));
        asm volatile("swapgs" : : : "memory");
        check_user_exception("user mode ran", &exception, user_exit, 0, user_gs_done);
        check_equal("and loaded through its GS", exception.frame.rax, 0x3333);
        check_equal("and its FS", exception.frame.rbx, 0x4444);
        check_equal("the kernel has its own GS", load_gs(), first[1]);
    }
}

static void check_optional(const char* what, bool good) {
    print("%s: %s\n", good ? "optional: ok" : "FAIL", what);
}

static uint64_t inactive_base(void) {
    uint64_t base;
    asm volatile("swapgs\n rdgsbase %[base]\n swapgs" : [base] "=r"(base) : : "memory");
    return base;
}

static void set_inactive_base(uint64_t base) {
    asm volatile("swapgs\n wrgsbase %[base]\n swapgs" : : [base] "r"(base) : "memory");
}

extern const char user_exchange[];
asm(".pushsection .user, \"aw\"\n"
    "user_exchange: plain rdgsbase %rax\n"
    "	plain wrgsbase %rdi\n"
    "	plain int $0x80\n"
    ".popsection");

/* User mode changes its base by itself. The kernel then gives it the base that it had before. */
static void check_users_base(void) {
    bool is_kept = true;
    bool is_seen = true;
    for (unsigned i = 0; i < 3; ++i) {
        set_inactive_base((uintptr_t)second);
        is_seen = is_seen && inactive_base() == (uintptr_t)second;
        asm volatile("swapgs" : : : "memory");
        const struct exception exception = run_user(user_exchange, 0x5000 + i);
        asm volatile("swapgs" : : : "memory");
        is_kept = is_kept && exception.frame.rax == (uintptr_t)second;
        is_seen = is_seen && inactive_base() == 0x5000 + i;
    }
    check_optional("user mode has the base that the kernel gave it", is_kept);
    check_optional("the kernel sees the base that user mode took", is_seen);
}

static void check_instructions(void) {
    enum { extended_features = 7, offers_fsgsbase = 1 };
    uint32_t eax = extended_features;
    uint32_t ebx;
    uint32_t ecx = 0;
    asm volatile("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx) : : "edx");
    if (!(ebx & offers_fsgsbase)) {
        return;
    }
    uint64_t value;
    write_cr4(read_cr4() | cr4_fsgsbase);
    asm volatile("wrfsbase %[base]" : : [base] "r"(second) : "memory");
    check_optional("wrfsbase", load_fs() == second[1] && read_msr(msr_fs_base) == (uintptr_t)second);
    asm volatile("rdfsbase %[base]" : [base] "=r"(value));
    check_optional("rdfsbase", value == (uintptr_t)second);
    asm volatile("wrgsbase %[base]" : : [base] "r"(second) : "memory");
    check_optional("wrgsbase", load_gs() == second[1] && read_msr(msr_gs_base) == (uintptr_t)second);
    asm volatile("rdgsbase %[base]" : [base] "=r"(value));
    check_optional("rdgsbase", value == (uintptr_t)second);
    asm volatile("wrgsbase %k[base]" : : [base] "r"(0x1234567800000010) : "memory");
    check_optional("wrgsbase of 32 bits", read_msr(msr_gs_base) == 0x10);
    check_users_base();
}

void guest(void) {
    load_descriptor_tables();
    prepare_user();
    check_bases();
    check_swapgs();
    check_descriptor();
    check_user();
    check_instructions();
}
