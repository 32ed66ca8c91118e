/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A process may become a program of the other size, again and again, and processes of both sizes take turns.
 */
#include "part.h"

#include <sys/wait.h>

enum { turns = 500, chains = 8 };

static __thread unsigned mine = 3;

static void take_turns(void)
{
	int there[2], back[2];
	char byte = 0;

	require(pipe(there) == 0 && pipe(back) == 0);
	const pid_t child = fork();
	if (child == 0) {
		for (unsigned i = 0; i < turns; i++) {
			require(read(there[0], &byte, 1) == 1 && ++mine == 4 + i);
			require(write(back[1], &byte, 1) == 1);
		}
		_exit(0);
	}
	for (unsigned i = 0; i < turns; i++)
		require(write(there[1], &byte, 1) == 1 && read(back[0], &byte, 1) == 1 && mine == 3);
	require_child(child);
}

void programs(void)
{
	pid_t children[chains];
	int status;

	for (unsigned i = 0; i < chains; i++) {
		children[i] = fork();
		if (children[i] == 0) {
			execl(this_program, this_program, "chain", i % 2 ? "6" : "7", other_program, (char *)NULL);
			_exit(1);
		}
	}
	take_turns();
	for (unsigned i = 0; i < chains; i++)
		require(waitpid(children[i], &status, 0) == children[i] && WIFEXITED(status) && WEXITSTATUS(status) == 42);
}
