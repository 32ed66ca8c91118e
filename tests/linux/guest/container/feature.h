/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A feature of the kernel that container engines and their tools call. Each runs in a process of its own and returns if all
 * is well.
 */
#pragma once
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void bpf_programs(void);
void system_call_filters(void);
void landlock_rules(void);
void memory_of_processes(void);
void page_monitor(void);
void user_page_faults(void);
void file_handles(void);
void file_events(void);
void extended_attributes(void);
void early_entropy(void);
void task_statistics(void);

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
