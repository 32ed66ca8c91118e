/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a kernel's operations cost in time. Prints `kernel WHICH`; `clock begins`, and a second later by the kernel's
 * clock `clock ended NANOSECONDS TICKS`, with what that clock and the time stamp counter say; then, times_samples times,
 * `sample NAME TICKS` for one of each operation, measured over times_microseconds or longer. Both numbers stand in
 * the environment.
 */
#include "operations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A walk through 256 KiB, each cache line once, in an order that no prefetcher foresees. */
enum { line_bytes = 64, lines = 4096, pages = lines * line_bytes / 4096 };

static void link_lines(void)
{
	/* Full period (Knuth 3.2.1.2, theorem A). */
	const unsigned factor = 1229, step = 2531;

	map_pages(pages);
	for (unsigned line = 0; line < lines; line++)
		*(char **)(memory + line * line_bytes) = memory + (line * factor + step) % lines * line_bytes;
}

static void walk_memory(void)
{
	char **line = (char **)memory;

	for (unsigned i = 0; i < lines; i++)
		line = (char **)*line;
	__asm__ volatile("" : : "r"(line));
}

static const struct operation memory_walk = { "memory_walk", walk_memory, 0, link_lines, unmap_pages, 0 };

enum { most_operations = 32 };

static const struct operation *measured[most_operations];
static unsigned times[most_operations];
static size_t measured_count;

static void choose_operations(void)
{
	require(operation_count < most_operations, "most_operations");
	measured[measured_count++] = &memory_walk;
	for (size_t i = 0; i < operation_count; i++)
		measured[measured_count++] = &operations[i];
}

static uint64_t nanoseconds(void)
{
	struct timespec now;

	require(clock_gettime(CLOCK_MONOTONIC, &now) == 0, "clock_gettime");
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Ticks in a millisecond. */
static uint64_t compare_clocks(void)
{
	const uint64_t second = 1000000000;

	puts("clock begins");
	const uint64_t begin = nanoseconds(), first = ticks();
	while (nanoseconds() - begin < second)
		;
	const uint64_t took = nanoseconds() - begin, counted = ticks() - first;
	printf("clock ended %llu %llu\n", (unsigned long long)took, (unsigned long long)counted);
	return counted / 1000;
}

static uint64_t run_for(const struct operation *operation, unsigned how_often)
{
	operation->prepare();
	repeat(operation, how_often / 10);
	const uint64_t begin = ticks();
	repeat(operation, how_often);
	const uint64_t end = ticks();
	operation->finish();
	return end - begin;
}

static unsigned times_for(const struct operation *operation, uint64_t enough)
{
	unsigned how_often = 16;

	while (run_for(operation, how_often) < enough) {
		how_often *= 2;
		if (operation->most != 0 && how_often > operation->most)
			return operation->most;
	}
	return how_often;
}

static unsigned long number(const char *name)
{
	const char *value = getenv(name);
	const unsigned long read = value == NULL ? 0 : strtoul(value, NULL, 10);

	if (read == 0) {
		fprintf(stderr, "%s: not in the environment\n", name);
		exit(1);
	}
	return read;
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "exit") == 0)
		return 0;
	setvbuf(stdout, NULL, _IOLBF, 0);
	const unsigned long samples = number("times_samples"), microseconds = number("times_microseconds");
	print_kernel();
	const uint64_t enough = compare_clocks() * microseconds / 1000;
	/* The same kind of file system on a host and in a guest; and a file of its own. */
	static char file[64];
	snprintf(file, sizeof file, "/dev/shm/operations-file.%d", (int)getpid());
	scratch_file = file;
	choose_operations();
	begin_operations(argv[0]);
	for (size_t i = 0; i < measured_count; i++)
		times[i] = times_for(measured[i], enough);
	for (unsigned long sample = 0; sample < samples; sample++) {
		for (size_t i = 0; i < measured_count; i++) {
			const uint64_t took = run_for(measured[i], times[i]);

			printf("sample %s %.3f\n", measured[i]->name, (double)took / times[i]);
		}
	}
	end_operations();
	return 0;
}
