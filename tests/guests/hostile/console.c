/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Guests whose console's other end does not do what it should: nobody reads what they print, they never read
 * what is typed, or they ask a terminal and do not wait for its answer. console.py is the other end.
 */
#include "hostile.h"

CASE prints_without_end(void) {
    for (uint64_t line = 0;; ++line) {
        print("line %lu: nobody has to read this, and the guest would print it all the same\n", line);
    }
}

/* More than all pipes and queues on its way hold together. */
CASE prints_much(void) {
    for (unsigned line = 0; line < 6000; ++line) {
        print("line %u: each of them has to arrive, once and in its order; nothing is lost\n", line);
    }
}

CASE never_reads(void) {
    disable_interrupts();
    for (;;) {
        asm volatile("");
    }
}

/* Where is your cursor? */
CASE asks_terminal(void) {
    print("\033[6n\n");
}

DEFINE_GUEST
