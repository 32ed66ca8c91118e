/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A facility is what programs expect of a kernel. Each runs in a process of its own and returns if all is well.
 */
#pragma once
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void address_space(void);
void threads(void);
void floating_point(void);
void mappings(void);
void memory_faults(void);
void shared_memory(void);
void clocks(void);
void timers(void);
void files(void);
void code_as_data(void);
void single_steps(void);
void modes(void);
void watchpoints(void);

/* Names what does not hold and ends the process. */
#define require(condition) \
	do { \
		if (!(condition)) \
			refuse(__FILE_NAME__, __LINE__, #condition); \
	} while (0)

static inline _Noreturn void refuse(const char *file, int line, const char *condition)
{
	printf("%s:%d: not so: %s (%s)\n", file, line, condition, strerror(errno));
	fflush(stdout);
	_exit(1);
}

/* Waits for a child, which must have ended well. */
void require_child(int process);

/*
 * Of the machine beneath the kernel, as its command line says: lacks=WHAT. Who asks has to see that it does lack it, or the
 * command line is wrong.
 */
int is_lacking(const char *what);
