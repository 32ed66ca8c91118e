/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Runs every facility. Prints `passed: NAME` or `FAILED: NAME` for each; the status is 0 if all passed.
 */
#include "facility.h"

#include <sys/wait.h>

static const struct facility {
	const char *name;
	void (*run)(void);
} facilities[] = {
	{ "address space", address_space },
	{ "threads", threads },
	{ "floating point", floating_point },
	{ "mappings", mappings },
	{ "memory faults", memory_faults },
	{ "shared memory", shared_memory },
	{ "clocks", clocks },
	{ "timers", timers },
	{ "files", files },
	{ "code as data", code_as_data },
	{ "single steps", single_steps },
	{ "modes", modes },
	{ "watchpoints", watchpoints },
};

enum { longest_seconds = 60 };

void require_child(int process)
{
	int status;

	require(process > 0);
	require(waitpid(process, &status, 0) == process);
	require(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int is_lacking(const char *what)
{
	char line[4096] = "", word[64];
	FILE *const file = fopen("/proc/cmdline", "r");

	require(file != NULL && fgets(line, sizeof line, file) != NULL && fclose(file) == 0);
	snprintf(word, sizeof word, "lacks=%s", what);
	return strstr(line, word) != NULL;
}

int main(void)
{
	int failed = 0;

	for (size_t i = 0; i < sizeof facilities / sizeof *facilities; i++) {
		int status = 0;

		fflush(stdout);
		const pid_t process = fork();
		if (process == 0) {
			alarm(longest_seconds);
			facilities[i].run();
			fflush(stdout);
			_exit(0);
		}
		require(process > 0 && waitpid(process, &status, 0) == process);
		if (status == 0) {
			printf("passed: %s\n", facilities[i].name);
		} else {
			printf("FAILED: %s: %s %d\n", facilities[i].name, WIFSIGNALED(status) ? "signal" : "status",
			       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
			failed = 1;
		}
	}
	return failed;
}
