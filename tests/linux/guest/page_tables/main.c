/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Programs that need more page tables than a VMM may have room for. Each part prints `page tables: NAME: right`, or what
 * was wrong; the status is 0 if all were right.
 */
#define _GNU_SOURCE
#include "../program.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { region_size = 2 << 20 };

/* One page in each region, which takes a table of its own. The second turn goes back to those that were used first. */
static unsigned use_regions(void)
{
	enum { regions = 12000 };
	uint8_t *const memory = map((size_t)regions * region_size, MAP_PRIVATE | MAP_NORESERVE);
	unsigned wrong = 0;

	require(madvise(memory, (size_t)regions * region_size, MADV_NOHUGEPAGE) == 0, "madvise");
	for (unsigned i = 0; i < regions; i++)
		*(volatile uint32_t *)(memory + (size_t)i * region_size) = i ^ 0x5a5a5a;
	for (unsigned i = 0; i < regions; i++)
		wrong += *(volatile uint32_t *)(memory + (size_t)i * region_size) != (i ^ 0x5a5a5a);
	munmap(memory, (size_t)regions * region_size);
	return wrong;
}

static void set_huge_pages(const char *when)
{
	const int file = open("/sys/kernel/mm/transparent_hugepage/enabled", O_WRONLY);

	require(file >= 0 && write(file, when, strlen(when)) == (ssize_t)strlen(when), "transparent_hugepage/enabled");
	close(file);
}

/* Both sides write, which splits or copies what is large. */
static unsigned fork_with_huge_pages(void)
{
	enum { bytes = 64 << 20, turns = 20 };
	unsigned wrong = 0;

	set_huge_pages("always");
	uint8_t *const memory = map(bytes, MAP_PRIVATE);
	for (size_t at = 0; at < bytes; at += page_size)
		memory[at] = (uint8_t)(at >> 12);
	for (unsigned turn = 0; turn < turns; turn++) {
		const size_t first = (size_t)turn * 3 * page_size;
		const pid_t child = fork();

		require(child >= 0, "fork");
		if (child == 0) {
			unsigned bad = 0;

			for (size_t at = first; at < bytes; at += region_size)
				bad += memory[at] != (uint8_t)(at >> 12);
			memory[first + region_size] = 0xee;
			_exit(bad != 0 || memory[first + region_size] != 0xee);
		}
		wrong += wait_for(child);
		memory[first + 2 * region_size + 1] = (uint8_t)turn;
		wrong += memory[first + region_size] != (uint8_t)((first + region_size) >> 12);
	}
	munmap(memory, bytes);
	set_huge_pages("madvise");
	return wrong;
}

static unsigned sum_of(const uint8_t *memory, size_t bytes)
{
	unsigned sum = 0;

	for (size_t at = 0; at < bytes; at += page_size)
		sum += memory[at];
	return sum;
}

/* Each has tables of its own for the same memory, and reads it twice, the others in between. */
static unsigned read_in_many_processes(void)
{
	enum { bytes = 32 << 20, processes = 150 };
	uint8_t *const memory = map(bytes, MAP_SHARED);
	static pid_t children[processes];
	int go[2], done[2];
	unsigned wrong = 0;
	char byte = 0;

	for (size_t at = 0; at < bytes; at += page_size)
		memory[at] = (uint8_t)(at >> 12);
	const unsigned expected = sum_of(memory, bytes);

	require(pipe(go) == 0 && pipe(done) == 0, "pipe");
	for (unsigned i = 0; i < processes; i++) {
		children[i] = fork();
		require(children[i] >= 0, "fork");
		if (children[i] == 0) {
			close(go[1]);
			unsigned bad = sum_of(memory, bytes) != expected;
			require(write(done[1], &byte, 1) == 1, "write");
			require(read(go[0], &byte, 1) == 0, "read");
			bad |= sum_of(memory, bytes) != expected;
			_exit(bad != 0);
		}
	}
	for (unsigned i = 0; i < processes; i++)
		require(read(done[0], &byte, 1) == 1, "read");
	close(go[1]);
	for (unsigned i = 0; i < processes; i++)
		wrong += wait_for(children[i]);
	munmap(memory, bytes);
	return wrong;
}

/* Little memory, but each process has 500 tables for it, and its neighbours make others while it waits. */
static unsigned scatter_in_many_processes(void)
{
	enum { regions = 500, processes = 150 };
	static pid_t children[processes];
	int go[2], done[2];
	unsigned wrong = 0;
	char byte = 0;

	require(pipe(go) == 0 && pipe(done) == 0, "pipe");
	for (unsigned i = 0; i < processes; i++) {
		children[i] = fork();
		require(children[i] >= 0, "fork");
		if (children[i] == 0) {
			close(go[1]);
			const size_t bytes = (size_t)regions * region_size;
			uint8_t *const memory = map(bytes, MAP_PRIVATE | MAP_NORESERVE);
			unsigned bad = 0;

			require(madvise(memory, bytes, MADV_NOHUGEPAGE) == 0, "madvise");
			for (unsigned turn = 0; turn < 2; turn++) {
				for (size_t at = 0; at < bytes; at += region_size)
					bad += *(volatile uint8_t *)(memory + at) != 0;
				if (turn == 0) {
					require(write(done[1], &byte, 1) == 1, "write");
					require(read(go[0], &byte, 1) == 0, "read");
				}
			}
			_exit(bad != 0);
		}
		require(read(done[0], &byte, 1) == 1, "read");
	}
	close(go[1]);
	for (unsigned i = 0; i < processes; i++)
		wrong += wait_for(children[i]);
	return wrong;
}

int main(void)
{
	int wrong = 0;

	setvbuf(stdout, NULL, _IONBF, 0);
	wrong |= report("page tables", "12000 regions with one page each", use_regions());
	wrong |= report("page tables", "forks with huge pages", fork_with_huge_pages());
	wrong |= report("page tables", "150 processes that read 32 MiB", read_in_many_processes());
	wrong |= report("page tables", "150 processes with 500 tables each", scatter_in_many_processes());
	return wrong;
}
