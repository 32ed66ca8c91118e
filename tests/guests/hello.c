/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 3
 *
 * A guest begins, has its memory as the ELF file says, writes to the UART, and ends. No descriptor table,
 * page table or interrupt is touched: what every other guest stands on.
 */
#include "harness/check.h"
#include "harness/console.h"

static volatile uint64_t initialised = 0x0123456789abcdef;
static volatile uint64_t zero[1024];

static bool all_zero(void) {
    for (unsigned i = 0; i < sizeof zero / sizeof zero[0]; ++i) {
        if (zero[i]) {
            return false;
        }
    }
    return true;
}

void guest(void) {
    print("hello: %s, %u, 0x%lx\n", "a string", 4294967295U, 0xfedcba9876543210);
    check_equal("initialised data is as the file has it", initialised, 0x0123456789abcdef);
    check("memory beyond the file's bytes is zero", all_zero());
    check("the stack is aligned as calls expect", (uintptr_t)__builtin_frame_address(0) % 16 == 0);
    for (unsigned character = ' '; character <= '~'; ++character) {
        print_character((char)character);
    }
    print("\n");
}
