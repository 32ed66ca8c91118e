/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 22
 *
 * CPUID agrees with itself and with the state a guest begins in. What a 64-bit kernel takes for granted is
 * there (Linux stops without it). Nothing is printed of what differs from one processor to the next.
 */
#include "harness/check.h"
#include "harness/registers.h"

struct answer {
    uint64_t rax, rbx, rcx, rdx;
};

static struct answer ask(uint32_t leaf) {
    struct answer answer = {leaf | UINT64_C(0xabcd) << 32, UINT64_MAX, UINT64_C(0xabcd) << 32, UINT64_MAX};
    asm volatile("cpuid" : "+a"(answer.rax), "+b"(answer.rbx), "+c"(answer.rcx), "+d"(answer.rdx));
    return answer;
}

static bool equal(struct answer left, struct answer right) {
    return left.rax == right.rax && left.rbx == right.rbx && left.rcx == right.rcx && left.rdx == right.rdx;
}

static bool printable(uint64_t letters) {
    for (unsigned i = 0; i < 4; ++i) {
        const uint8_t letter = (uint8_t)(letters >> 8 * i);
        if (letter < ' ' || letter > '~') {
            return false;
        }
    }
    return true;
}

void guest(void) {
    const struct answer vendor = ask(0);
    check("leaf 0: there is a leaf 1", vendor.rax >= 1);
    check("the vendor is printable", printable(vendor.rbx) && printable(vendor.rcx) && printable(vendor.rdx));
    check("the upper halves of the registers are cleared",
          !((vendor.rax | vendor.rbx | vendor.rcx | vendor.rdx) >> 32));
    check("asked again, the same", equal(ask(0), vendor));

    const struct answer features = ask(1);
    static const struct {
        const char* what;
        unsigned bit;
    } needed[] = {{"x87", 0},  {"PSE", 3},   {"TSC", 4},     {"MSR", 5},  {"PAE", 6},  {"CMPXCHG8B", 8},
                  {"PGE", 13}, {"CMOV", 15}, {"FXSAVE", 24}, {"SSE", 25}, {"SSE2", 26}};
    for (unsigned i = 0; i < sizeof needed / sizeof needed[0]; ++i) {
        check(needed[i].what, features.rdx >> needed[i].bit & 1);
    }
    check_equal("OSXSAVE is CR4's", features.rcx >> 27 & 1, read_cr4() >> 18 & 1);

    const struct answer extended = ask(0x80000000);
    check("leaf 0x80000000: there is a leaf 0x80000008", extended.rax >= 0x80000008);
    const struct answer long_mode = ask(0x80000001);
    check("long mode", long_mode.rdx >> 29 & 1);
    check("SYSCALL", long_mode.rdx >> 11 & 1);
    check("NX", long_mode.rdx >> 20 & 1);
    const struct answer sizes = ask(0x80000008);
    check("physical addresses have 32 to 52 bits", (sizes.rax & 0xff) >= 32 && (sizes.rax & 0xff) <= 52);
    check("linear addresses have 48 bits or more", (sizes.rax >> 8 & 0xff) >= 48);
}
