/* SPDX-License-Identifier: BSD-2-Clause */
#include "cliffs.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static uint32_t word_of(size_t at)
{
	return (uint32_t)(at * 2654435761u);
}

static void fill(volatile uint32_t *memory, size_t bytes)
{
	for (size_t at = 0; at < bytes / sizeof *memory; at += 64)
		memory[at] = word_of(at);
}

static unsigned wrong_words(const volatile uint32_t *memory, size_t bytes)
{
	unsigned wrong = 0;

	for (size_t at = 0; at < bytes / sizeof *memory; at += 64)
		wrong += memory[at] != word_of(at);
	return wrong;
}

static _Noreturn void take_all_memory(void)
{
	enum { piece = 4 << 20 };

	write_file("/proc/self/oom_score_adj", "1000");
	for (;;) {
		uint8_t *const memory = mmap(NULL, piece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (memory == MAP_FAILED)
			_exit(1);
		memset(memory, 0x5a, piece);
	}
}

/* The kernel kills the one that takes it all, three times. Two others keep what they have, and so do their files. */
unsigned run_out_of_memory(size_t kept)
{
	enum { victims = 3 };
	volatile uint32_t *const memory = (volatile uint32_t *)(void *)map(kept / 2, MAP_PRIVATE);
	volatile uint32_t *const shared = (volatile uint32_t *)(void *)map(kept / 2, MAP_SHARED);
	int go[2];
	unsigned wrong = 0;

	fill(memory, kept / 2);
	fill(shared, kept / 2);
	require(pipe(go) == 0, "pipe");
	const pid_t bystander = fork();

	require(bystander >= 0, "fork");
	if (bystander == 0) {
		char byte;

		close(go[1]);
		require(read(go[0], &byte, 1) == 0, "read");
		_exit(wrong_words(memory, kept / 2) != 0 || wrong_words(shared, kept / 2) != 0);
	}
	for (unsigned i = 0; i < victims; i++) {
		int status = 0;
		const pid_t victim = fork();

		require(victim >= 0, "fork");
		if (victim == 0)
			take_all_memory();
		wrong += waitpid(victim, &status, 0) != victim || !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL;
		wrong += wrong_words(memory, kept / 2) + wrong_words(shared, kept / 2);
	}
	close(go[1]);
	wrong += wait_for(bystander);
	munmap((void *)(uintptr_t)memory, kept / 2);
	munmap((void *)(uintptr_t)shared, kept / 2);
	return wrong;
}
