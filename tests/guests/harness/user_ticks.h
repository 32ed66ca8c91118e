/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The timer interrupts user mode that executes one page, and the handler counts.
 */
#pragma once

#include <stdint.h>

extern volatile unsigned user_ticks;           /* in user mode */
extern volatile unsigned user_ticks_elsewhere; /* of these, outside of the page */

/* One each millisecond. Counts from 0. */
void start_user_ticks(uintptr_t page);
/* Returns with interrupts disabled. */
void stop_user_ticks(void);
