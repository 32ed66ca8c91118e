/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include "console.h"

void check(const char* what, bool good) {
    print("%s: %s\n", good ? "ok" : "FAIL", what);
}

void check_equal(const char* what, uint64_t actual, uint64_t expected) {
    if (actual == expected) {
        print("ok: %s\n", what);
    } else {
        print("FAIL: %s: 0x%lx instead of 0x%lx\n", what, actual, expected);
    }
}

_Noreturn void run_guest(void);

void run_guest(void) {
    start_console();
    guest();
    end_guest();
}
