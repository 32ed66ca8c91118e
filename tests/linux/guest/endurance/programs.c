/* SPDX-License-Identifier: BSD-2-Clause */
#include "endurance.h"

#include <sys/wait.h>

enum { programs = 2000, at_once = 5, statuses = 200 };

static uint64_t forks_so_far(void)
{
	FILE *const stream = fopen("/proc/stat", "r");
	char line[4096];
	unsigned long long forks = 0;

	require(stream != NULL, "/proc/stat");
	while (fgets(line, sizeof line, stream) != NULL && sscanf(line, "processes %llu", &forks) != 1)
		;
	fclose(stream);
	return forks;
}

/* Each gets a status of its own to end with. */
uint64_t run_programs(void)
{
	const uint64_t forks_before = forks_so_far();
	uint64_t ended_well = 0;

	for (unsigned begin = 0; begin < share(programs); begin += at_once) {
		pid_t processes[at_once];

		for (unsigned i = 0; i < at_once; i++) {
			processes[i] = fork();
			require(processes[i] >= 0, "fork");
			if (processes[i] == 0) {
				char status[8];

				snprintf(status, sizeof status, "%u", (begin + i) % statuses);
				execl("/proc/self/exe", "endurance", CHILD_ARGUMENT, status, NULL);
				_exit(255);
			}
		}
		for (unsigned i = 0; i < at_once; i++) {
			int status;

			if (waitpid(processes[i], &status, 0) == processes[i] && WIFEXITED(status) &&
			    WEXITSTATUS(status) == (int)((begin + i) % statuses))
				ended_well++;
		}
	}
	const uint64_t forks = forks_so_far() - forks_before;
	return forks < ended_well ? forks : ended_well;
}
