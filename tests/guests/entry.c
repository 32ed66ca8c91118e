/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 10
 *
 * The state in which a guest begins (README.md): 64-bit code at CPL 0, the selectors of Linux's 64-bit entry,
 * paging on, interrupts off. Control registers are checked in the bits that a loader has to set or leave
 * clear.
 */
#include "harness/check.h"
#include "harness/registers.h"

void guest(void) {
    check_equal("CS", read_cs(), 0x10);
    check_equal("DS", read_ds(), 0x18);
    check_equal("ES", read_es(), 0x18);
    check_equal("SS", read_ss(), 0x18);
    check_equal("RFLAGS: IF, TF, NT and IOPL are clear",
                read_flags() & (flag_interrupt | flag_trap | flag_nested_task | flag_iopl), 0);
    check_equal("CR0: PG, ET, PE are set, the others clear", read_cr0(), 0x80000011);
    check_equal("CR4: PAE is set", read_cr4() & 0x20, 0x20);
    check_equal("CR4: PSE, PGE, OSFXSR, PCIDE, FSGSBASE, SMEP, SMAP are clear", read_cr4() & 0x330290, 0);
    check_equal("EFER: LME and LMA are set, SCE and NXE clear",
                read_msr(msr_efer) & (efer_long_mode_enable | efer_long_mode_active | efer_syscall_enable |
                                      efer_no_execute_enable),
                efer_long_mode_enable | efer_long_mode_active);
    check_equal("CR3 names a page", read_cr3() & 0xfff, 0);
}
