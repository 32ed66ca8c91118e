/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 5
 *
 * What else control registers say of x87 and SSE. With CR0.TS but without CR0.MP, WAIT is no use of x87. With
 * CR0.EM x87 is #NM and SSE #UD; without CR4.OSFXSR SSE is #UD.
 */
#include "harness/check.h"
#include "harness/console.h"
#include "harness/descriptors.h"
#include "harness/exceptions.h"
#include "harness/registers.h"

static void check_wait(void) {
    write_cr0((read_cr0() | cr0_task_switched) & ~(uint64_t)cr0_monitor);
    struct exception exception = exception_of("fwait", : "memory");
    check_exception("TS without MP: fwait", &exception, no_exception, 0, at_instruction);
    exception = exception_of("fnop", : "memory");
    check_exception("TS without MP: x87", &exception, vector_no_device, 0, at_instruction);
    asm volatile("clts" : : : "memory");
    write_cr0(read_cr0() | cr0_monitor);
}

static void check_disabled(void) {
    write_cr4(read_cr4() & ~(uint64_t)cr4_fxsr);
    struct exception exception = exception_of("movaps %%xmm1, %%xmm2", : "memory");
    /* Optional: a hypervisor keeps the bit set for itself, and nothing then tells it of an SSE instruction. */
    print("%s: no OSFXSR: SSE\n", exception.frame.vector == vector_invalid_opcode ? "optional: ok" : "optional: none");
    write_cr4(read_cr4() | cr4_fxsr);
    write_cr0(read_cr0() | cr0_emulation);
    exception = exception_of("fnop", : "memory");
    check_exception("EM: x87", &exception, vector_no_device, 0, at_instruction);
    exception = exception_of("movaps %%xmm1, %%xmm2", : "memory");
    check_exception("EM: SSE", &exception, vector_invalid_opcode, 0, at_instruction);
    write_cr0(read_cr0() & ~(uint64_t)cr0_emulation);
    exception = exception_of("movaps %%xmm1, %%xmm2", : "memory");
    check_exception("EM clear: SSE", &exception, no_exception, 0, at_instruction);
}

void guest(void) {
    load_descriptor_tables();
    write_cr0((read_cr0() | cr0_numeric_error | cr0_monitor) & ~(uint64_t)cr0_emulation);
    write_cr4(read_cr4() | cr4_fxsr);
    asm volatile("fninit" : : : "memory");
    check_wait();
    check_disabled();
}
