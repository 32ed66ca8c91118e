/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 32
 *
 * Control registers and EFER hold what was written to them. CR0.ET is always one, EFER.LMA is the
 * processor's. SMSW and LMSW are CR0's low word: LMSW moves its low four bits but does not clear PE. CLTS
 * clears TS.
 *
 * Left out, since QEMU's TCG does not check them: #GP for reserved bits and bad combinations in CR0, CR4 and
 * EFER, for what would leave paging in 64-bit code, and for MSRs that are not there.
 */
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/exceptions.h"
#include "harness/paging.h"
#include "harness/registers.h"

enum {
    cr0_protection = 1 << 0,
    cr0_extension_type = 1 << 4,
    cache_bits = 0x18, /* of CR3 */
};

static void check_bit(const char* what, uint64_t (*read)(void), void (*write)(uint64_t), uint64_t bit) {
    const uint64_t before = read();
    write(before | bit);
    const uint64_t set = read();
    write(before & ~bit);
    const uint64_t clear = read();
    write(before);
    check(what, set == (before | bit) && clear == (before & ~bit) && read() == before);
}

static void check_cr0(void) {
    check_bit("CR0.MP", read_cr0, write_cr0, cr0_monitor);
    check_bit("CR0.EM", read_cr0, write_cr0, cr0_emulation);
    check_bit("CR0.TS", read_cr0, write_cr0, cr0_task_switched);
    check_bit("CR0.NE", read_cr0, write_cr0, cr0_numeric_error);
    check_bit("CR0.WP", read_cr0, write_cr0, cr0_write_protect);
    check_bit("CR0.AM", read_cr0, write_cr0, cr0_alignment_mask);
    write_cr0(read_cr0() & ~(uint64_t)cr0_extension_type);
    check_equal("CR0.ET cannot be cleared", read_cr0() & cr0_extension_type, cr0_extension_type);
}

static void check_machine_status_word(void) {
    uint32_t word;
    uint16_t stored = 0xffff;
    const uint64_t cr0 = read_cr0();
    asm volatile("smsw %[word]" : [word] "=r"(word));
    check_equal("smsw", word & 0xffff, cr0 & 0xffff);
    asm volatile("smsw %[word]" : [word] "=m"(stored));
    check_equal("smsw to memory", stored, cr0 & 0xffff);
    asm volatile("lmsw %w[word]" : : [word] "r"(cr0_monitor | cr0_task_switched) : "memory");
    check_equal("lmsw sets MP and TS, PE stays", read_cr0(), cr0 | cr0_monitor | cr0_task_switched);
    asm volatile("clts" : : : "memory");
    check_equal("clts", read_cr0(), cr0 | cr0_monitor);
    asm volatile("clts" : : : "memory");
    check_equal("clts again", read_cr0(), cr0 | cr0_monitor);
    const uint16_t one = cr0_protection;
    asm volatile("lmsw %[word]" : : [word] "m"(one) : "memory");
    check_equal("lmsw from memory", read_cr0(), cr0);
}

static void check_others(void) {
    check_bit("CR4.PGE", read_cr4, write_cr4, cr4_page_global);
    check_bit("CR4.OSFXSR", read_cr4, write_cr4, cr4_fxsr);
    check_bit("CR4.OSXMMEXCPT", read_cr4, write_cr4, cr4_simd_exceptions);

    write_cr2(0xfedcba9876543210);
    check_equal("CR2", read_cr2(), 0xfedcba9876543210);
    const uint64_t cr3 = read_cr3();
    write_cr3(cr3 | cache_bits);
    check_equal("CR3 with its cache bits", read_cr3(), cr3 | cache_bits);
    write_cr3(cr3);
    check_equal("CR3", read_cr3(), cr3);
    write_cr8(9);
    check_equal("CR8", read_cr8(), 9);
    write_cr8(0);
    check_equal("CR8", read_cr8(), 0);
}

static uint64_t read_efer(void) {
    return read_msr(msr_efer);
}

static void write_efer(uint64_t value) {
    write_msr(msr_efer, value);
}

static void check_msrs(void) {
    static const uint32_t numbers[] = {msr_lstar, msr_cstar, msr_kernel_gs_base};
    check_bit("EFER.SCE", read_efer, write_efer, efer_syscall_enable);
    check_bit("EFER.NXE", read_efer, write_efer, efer_no_execute_enable);
    const uint64_t efer = read_efer();
    write_efer(efer & ~(uint64_t)efer_long_mode_active);
    check_equal("EFER.LMA cannot be cleared", read_efer(), efer);
    for (unsigned i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
        write_msr(numbers[i], 0xffff812345678000);
        check_equal("an MSR holds an address", read_msr(numbers[i]), 0xffff812345678000);
        write_msr(numbers[i], 0);
        check_equal("and another", read_msr(numbers[i]), 0);
    }
    write_msr(msr_star, 0x0023001012345678);
    check_equal("STAR holds all of its bits", read_msr(msr_star), 0x0023001012345678);
    write_msr(msr_sfmask, 0x47700);
    check_equal("SFMASK", read_msr(msr_sfmask), 0x47700);
}

void guest(void) {
    load_descriptor_tables();
    load_page_tables();
    check_cr0();
    check_machine_status_word();
    check_others();
    check_msrs();
}
