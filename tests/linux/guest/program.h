/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What several of the programs need.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { page_size = 4096 };

/* Ends the program with the reason, unless the condition holds. */
void require(int condition, const char *what);
uint8_t *map(size_t bytes, int flags);
/* 1: the child did not end with status 0. */
unsigned wait_for(pid_t child);

extern uint64_t random_state;
/* The same sequence in each run. In line, because loops with it are measured. */
static inline uint32_t random_below(uint32_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)((random_state >> 32) * limit >> 32);
}

/* Prints `PROGRAM: PART: right`, or how much was wrong. 1: something was. */
int report(const char *program, const char *part, unsigned wrong);
