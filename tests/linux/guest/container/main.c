/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Runs every feature. Prints `container: NAME: right` for each that is; the status is 0 if all are.
 */
#include "feature.h"

#include <sys/wait.h>

static const struct feature {
	const char *name;
	void (*run)(void);
} features[] = {
	{ "BPF programs", bpf_programs },
	{ "system call filters", system_call_filters },
	{ "Landlock", landlock_rules },
	{ "memory of processes", memory_of_processes },
	{ "page monitor", page_monitor },
	{ "userfaultfd", user_page_faults },
	{ "file handles", file_handles },
	{ "fanotify", file_events },
	{ "extended attributes", extended_attributes },
	{ "early entropy", early_entropy },
	{ "task statistics", task_statistics },
};

enum { longest_seconds = 60 };

void require_child(int process)
{
	int status;

	require(process > 0);
	require(waitpid(process, &status, 0) == process);
	require(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
	int failed = 0;

	for (size_t i = 0; i < sizeof features / sizeof *features; i++) {
		int status = 0;

		fflush(stdout);
		const pid_t process = fork();
		if (process == 0) {
			alarm(longest_seconds);
			features[i].run();
			fflush(stdout);
			_exit(0);
		}
		require(process > 0 && waitpid(process, &status, 0) == process);
		if (status == 0) {
			printf("container: %s: right\n", features[i].name);
		} else {
			printf("container: %s: WRONG: %s %d\n", features[i].name, WIFSIGNALED(status) ? "signal" : "status",
			       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
			failed = 1;
		}
	}
	return failed;
}
