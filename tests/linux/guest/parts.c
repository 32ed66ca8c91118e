/* SPDX-License-Identifier: BSD-2-Clause */
#include "parts.h"

#include <sys/wait.h>

enum { longest_seconds = 60 };

void require_child(int process)
{
	int status;

	require(process > 0);
	require(waitpid(process, &status, 0) == process);
	require(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int run_parts(const struct part *parts, size_t count, void (*tell)(const char *name, const char *why))
{
	int failed = 0;

	for (size_t i = 0; i < count; i++) {
		int status = 0;
		char why[32];

		fflush(stdout);
		const pid_t process = fork();
		if (process == 0) {
			alarm(longest_seconds);
			parts[i].run();
			fflush(stdout);
			_exit(0);
		}
		require(process > 0 && waitpid(process, &status, 0) == process);
		snprintf(why, sizeof why, "%s %d", WIFSIGNALED(status) ? "signal" : "status",
			 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
		tell(parts[i].name, status == 0 ? NULL : why);
		failed |= status != 0;
	}
	return failed;
}
