/* SPDX-License-Identifier: BSD-2-Clause */
#include "endurance.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { victims = 2, piece = 4 << 20, kept = 8 << 20 };

static _Noreturn void take_all_memory(void)
{
	const int score = open("/proc/self/oom_score_adj", O_WRONLY);

	require(score >= 0 && write(score, "1000", 4) == 4, "oom_score_adj");
	for (;;) {
		uint8_t *const memory = mmap(NULL, piece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (memory == MAP_FAILED)
			_exit(0);
		memset(memory, 0x5a, piece);
	}
}

static int is_filled(const uint8_t *memory)
{
	for (size_t i = 0; i < kept; i++)
		if (memory[i] != (uint8_t)(i / 4096 * 31 + seed))
			return 0;
	return 1;
}

/* How many were killed for it, while the memory of their parent stayed whole. */
uint64_t run_out_of_memory(void)
{
	uint8_t *const memory = malloc(kept);
	uint64_t killed = 0;

	require(memory != NULL, "malloc");
	for (size_t i = 0; i < kept; i++)
		memory[i] = (uint8_t)(i / 4096 * 31 + seed);
	for (unsigned i = 0; i < victims; i++) {
		int status;
		const pid_t victim = fork();

		require(victim >= 0, "fork");
		if (victim == 0)
			take_all_memory();
		if (waitpid(victim, &status, 0) == victim && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL &&
		    is_filled(memory))
			killed++;
	}
	free(memory);
	return killed;
}
