/* SPDX-License-Identifier: BSD-2-Clause
 *
 * forks TIMES: a program that forks so often, as a server does that has a process for each request. Each child finds
 * the program's memory as it was, and changes its own. Prints `forks: right`, or the first thing that was wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { cells = 3 * 512 };

static unsigned long data[cells];

static int is_as_it_was(unsigned long time)
{
	for (unsigned long i = 0; i < cells; i++)
		if (data[i] != time * i)
			return 0;
	return 1;
}

static int fail(const char *what, unsigned long time)
{
	printf("forks: WRONG: %s, at %lu\n", what, time);
	return 1;
}

int main(int count, char **arguments)
{
	const unsigned long times = count == 2 ? strtoul(arguments[1], NULL, 10) : 0;

	for (unsigned long time = 0; time < times; time++) {
		int status = 0;

		for (unsigned long i = 0; i < cells; i++)
			data[i] = time * i;
		const pid_t child = fork();
		if (child == 0) {
			const int right = is_as_it_was(time);

			memset(data, 0xff, sizeof data);
			_exit(right ? (int)(time % 100) : 101);
		}
		if (child < 0 || waitpid(child, &status, 0) != child)
			return fail("there was no child", time);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != (int)(time % 100))
			return fail("the child's memory, or its status", time);
		if (!is_as_it_was(time))
			return fail("the parent's memory", time);
	}
	puts("forks: right");
	return 0;
}
