/* SPDX-License-Identifier: BSD-2-Clause */
#include "cliffs.h"

#include <sys/mman.h>
#include <unistd.h>

enum { words_of_a_page = page_size / sizeof(uint32_t) };

static uint32_t sum_of(const volatile uint32_t *memory, size_t bytes)
{
	uint32_t sum = 0;

	for (size_t at = 0; at < bytes / sizeof *memory; at += words_of_a_page)
		sum = sum * 31 + memory[at + at / words_of_a_page % words_of_a_page];
	return sum;
}

/* All of them live at once. Each reads everything, then again what one of them has changed. */
unsigned share_among_processes(unsigned processes, size_t bytes)
{
	volatile uint32_t *const memory = (volatile uint32_t *)(void *)map(bytes, MAP_SHARED);
	pid_t *const children = calloc(processes, sizeof *children);
	int go[2], done[2];
	unsigned wrong = 0;
	char byte = 0;

	require(children != NULL && pipe(go) == 0 && pipe(done) == 0, "pipe");
	for (size_t page = 0; page < bytes / page_size; page++)
		memory[page * words_of_a_page + page % words_of_a_page] = random_below(UINT32_MAX);
	const uint32_t before = sum_of(memory, bytes);
	for (unsigned i = 0; i < processes; i++) {
		children[i] = fork();
		require(children[i] >= 0, "fork");
		if (children[i] == 0) {
			close(go[1]);
			const int is_wrong = sum_of(memory, bytes) != before;

			require(write(done[1], &byte, 1) == 1, "write");
			require(read(go[0], &byte, 1) == 0, "read");
			_exit(is_wrong || sum_of(memory, bytes) != memory[1]);
		}
	}
	for (unsigned i = 0; i < processes; i++)
		require(read(done[0], &byte, 1) == 1, "read");
	for (size_t page = 1; page < bytes / page_size; page += 7)
		memory[page * words_of_a_page + page % words_of_a_page] ^= 0x5a5a5a;
	memory[1] = sum_of(memory, bytes); /* the sum of the first page does not take this word */
	close(go[1]);
	for (unsigned i = 0; i < processes; i++)
		wrong += wait_for(children[i]);
	free(children);
	munmap((void *)(uintptr_t)memory, bytes);
	return wrong;
}
