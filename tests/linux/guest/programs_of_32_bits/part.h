/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The parts of this test. The program of 64 bits that it starts is the same source.
 */
#pragma once
#include "../parts.h"

#include <stdint.h>

/* The paths of this program and of the one of the other size. */
extern const char *this_program, *other_program;

void threads(void);
void programs(void);
#ifdef __i386__
void calls(void);
void segments(void);
void signals(void);

/* Linux's user_desc. */
struct descriptor {
	int index; /* -1: Linux chooses one */
	uint32_t base;
	uint32_t limit;
	uint32_t flags;
};

/* The thread's descriptor of these words; returns the selector. */
uint16_t set_segment(struct descriptor *descriptor, const uint32_t *words);
#endif
