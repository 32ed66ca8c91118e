/* SPDX-License-Identifier: BSD-2-Clause */
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

uint64_t random_state = 88172645463325252u;

void require(int condition, const char *what)
{
	if (!condition) {
		perror(what);
		exit(1);
	}
}

uint8_t *map(size_t bytes, int flags)
{
	uint8_t *const memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	require(memory != MAP_FAILED, "mmap");
	return memory;
}

unsigned wait_for(pid_t child)
{
	int status;

	require(waitpid(child, &status, 0) == child, "waitpid");
	return status != 0;
}

int report(const char *program, const char *part, unsigned wrong)
{
	if (wrong == 0)
		printf("%s: %s: right\n", program, part);
	else
		printf("%s: %s: WRONG: %u\n", program, part, wrong);
	return wrong != 0;
}
