/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Each part does its share of a fixed amount of work and returns how much of it came to its end: all of it, or something was lost.
 */
#pragma once
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the command line says. */
extern unsigned divisor; /* of all amounts of work */
extern uint32_t seed; /* of what is written into memory */

static inline unsigned share(unsigned amount)
{
	return amount / divisor;
}

uint64_t run_programs(void);
uint64_t system_calls(void);
uint64_t fault_pages(void);
uint64_t send_signals(void);
uint64_t pass_messages(void);
uint64_t hand_over_between_threads(void);
uint64_t run_out_of_memory(void);

/* With it, the program ends at once, with the status behind it. */
#define CHILD_ARGUMENT "child"

static inline void require(int condition, const char *what)
{
	if (!condition) {
		perror(what);
		exit(1);
	}
}
