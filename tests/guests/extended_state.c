/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 9
 *
 * XCR0: XGETBV gives what XSETBV has put there, and CPUID the size of a state area for it. Where the
 * processor has no XSAVE, nothing is to be seen.
 *
 * Left out: what XSAVE writes. A VMM without privilege cannot take a component from it.
 */
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/exceptions.h"
#include "harness/registers.h"

enum { cpuid_xsave = 1 << 26, cpuid_osxsave = 1 << 27, cr4_osxsave = 1 << 18, x87 = 1, x87_and_sse = 3 };

struct leaf {
    uint32_t eax, ebx, ecx, edx;
};

static struct leaf cpuid(uint32_t number) {
    struct leaf leaf;
    asm volatile("cpuid"
                 : "=a"(leaf.eax), "=b"(leaf.ebx), "=c"(leaf.ecx), "=d"(leaf.edx)
                 : "a"(number), "c"(0));
    return leaf;
}

static uint64_t get(void) {
    uint32_t low;
    uint32_t high;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static void set(uint32_t value) {
    asm volatile("xsetbv" : : "a"(value), "d"(0), "c"(0) : "memory");
}

void guest(void) {
    load_descriptor_tables();
    const bool offered = cpuid(1).ecx & cpuid_xsave;
    struct exception exception = exception_of("xgetbv", "c"(0) : "rax", "rdx");
    check_exception("xgetbv without CR4.OSXSAVE", &exception, vector_invalid_opcode, 0, at_instruction);
    if (offered) {
        write_cr4(read_cr4() | cr4_osxsave);
    }
    check("CPUID says so", !offered || (cpuid(1).ecx & cpuid_osxsave) != 0);
    check("XCR0 at first", !offered || get() == x87);
    if (offered) {
        set(x87_and_sse);
    }
    check("x87 and SSE", !offered || get() == x87_and_sse);
    check("their state area has 576 bytes", !offered || cpuid(0xd).ebx == 576);
    if (offered) {
        set(x87);
    }
    check("x87 alone", !offered || get() == x87);
    if (offered) {
        exception = exception_of("xsetbv", "a"(2), "d"(0), "c"(0) : "memory");
    }
    check("not without x87", !offered || exception.frame.vector == vector_protection);
    if (offered) {
        exception = exception_of("xgetbv", "c"(7) : "rax", "rdx");
    }
    check("no register 7", !offered || exception.frame.vector == vector_protection);
    check("and XCR0 is what it was", !offered || get() == x87);
}
