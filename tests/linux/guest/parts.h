/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A test of several parts. Each runs in a process of its own and returns if all is well.
 */
#pragma once
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct part {
	const char *name;
	void (*run)(void);
};

/*
 * Runs all parts, each for a minute at most. Tells of each: `why` is NULL if it was right, else the way that its process
 * ended. The result is 0 if all were right.
 */
int run_parts(const struct part *parts, size_t count, void (*tell)(const char *name, const char *why));

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

/* Waits for a child, which must have ended with status 0. */
void require_child(int process);
