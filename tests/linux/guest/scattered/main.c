/* SPDX-License-Identifier: BSD-2-Clause
 *
 * scattered MEBIBYTES READS PIECES: memory whose neighbouring pages lie apart in the machine's, and then memory that is
 * taken into so many pieces. Each part prints `scattered: NAME: right` and a time, or the number of faults; the status
 * is 0 if all were right.
 */
#define _GNU_SOURCE
#include "../program.h"

#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static sigjmp_buf after_fault;

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int report_time(const char *name, size_t wrong, double nanoseconds)
{
	if (wrong == 0)
		printf("scattered: %s: right, %.0f ns each\n", name, nanoseconds);
	else
		printf("scattered: %s: WRONG: %zu\n", name, wrong);
	return wrong != 0;
}

static volatile uint32_t *word_of(uint8_t *memory, uint32_t page)
{
	return (volatile uint32_t *)(memory + (size_t)page * page_size + page % 1000 * 4);
}

/* Without huge pages, the kernel gives out frames in the order of the touches, which is not that of the addresses. */
static void touch_in_random_order(uint8_t *memory, uint32_t pages)
{
	uint32_t *const order = malloc(pages * sizeof *order);

	require(order != NULL, "malloc");
	for (uint32_t i = 0; i < pages; i++)
		order[i] = i;
	for (uint32_t i = pages - 1; i > 0; i--) {
		const uint32_t other = random_below(i + 1);
		const uint32_t kept = order[i];

		order[i] = order[other];
		order[other] = kept;
	}
	for (uint32_t i = 0; i < pages; i++)
		*word_of(memory, order[i]) = order[i] ^ 0x5a5a5a;
	free(order);
}

static size_t wrong_reads(uint8_t *memory, uint32_t pages, uint32_t reads)
{
	size_t wrong = 0;

	for (uint32_t i = 0; i < reads; i++) {
		const uint32_t page = random_below(pages);

		wrong += *word_of(memory, page) != (page ^ 0x5a5a5a);
	}
	return wrong;
}

static int read_at_random(const char *name, int flags, int huge, size_t bytes, uint32_t reads)
{
	const uint32_t pages = (uint32_t)(bytes / page_size);
	uint8_t *const memory = map(bytes, flags);

	require(huge || madvise(memory, bytes, MADV_NOHUGEPAGE) == 0, "madvise");
	touch_in_random_order(memory, pages);
	size_t wrong = wrong_reads(memory, pages, reads / 4);
	const double began = seconds();
	wrong += wrong_reads(memory, pages, reads);
	const double took = seconds() - began;
	munmap(memory, bytes);
	return report_time(name, wrong, took * 1e9 / reads);
}

static void on_fault(int signal)
{
	(void)signal;
	siglongjmp(after_fault, 1);
}

static int read_faults(uint8_t *memory, uint32_t page)
{
	if (sigsetjmp(after_fault, 1) != 0)
		return 1;
	(void)*word_of(memory, page);
	return 0;
}

/* Large pages first become small ones. Then the reads may map many small ones at once. */
static void split_and_read(uint8_t *memory, uint32_t pages)
{
	enum { step = 512 };

	for (uint32_t page = 0; page < pages; page += step)
		require(mprotect(memory + (size_t)page * page_size, page_size, PROT_NONE) == 0, "mprotect");
	for (uint32_t page = 1; page < pages; page++)
		if (page % step != 0)
			(void)*word_of(memory, page);
}

/* Every second page has other rights, or is gone: what was in few pieces is in as many as there are pages. */
static int change_every_second_page(const char *name, uint32_t pieces, int removes)
{
	const uint32_t pages = 2 * pieces;
	const size_t bytes = (size_t)pages * page_size;
	uint8_t *const memory = map(bytes, MAP_PRIVATE);
	size_t wrong = 0;

	require(madvise(memory, bytes, MADV_HUGEPAGE) == 0, "madvise");
	for (uint32_t page = 0; page < pages; page++)
		*word_of(memory, page) = page ^ 0x5a5a5a;
	split_and_read(memory, pages);
	const double began = seconds();
	for (uint32_t page = 0; page < pages; page += 2) {
		uint8_t *const at = memory + (size_t)page * page_size;

		wrong += (removes ? madvise(at, page_size, MADV_DONTNEED) : mprotect(at, page_size, PROT_NONE)) != 0;
	}
	const double took = seconds() - began;
	if (removes)
		wrong += mprotect(memory, bytes, PROT_READ) != 0;
	for (uint32_t page = 0; page < pages; page++) {
		const int changed = page % 2 == 0;

		if (read_faults(memory, page) != (changed && !removes))
			wrong++;
		else if (!changed || removes)
			wrong += *word_of(memory, page) != (changed ? 0 : page ^ 0x5a5a5a);
	}
	munmap(memory, bytes);
	return report_time(name, wrong, took * 1e9 / pieces);
}

int main(int count, char **words)
{
	require(count == 4, "scattered MEBIBYTES READS PIECES");
	const size_t bytes = strtoul(words[1], NULL, 0) << 20;
	const uint32_t reads = (uint32_t)strtoul(words[2], NULL, 0);
	const uint32_t pieces = (uint32_t)strtoul(words[3], NULL, 0);
	int wrong = 0;

	setvbuf(stdout, NULL, _IONBF, 0);
	signal(SIGSEGV, on_fault);
	wrong |= read_at_random("reads of shared memory", MAP_SHARED, 0, bytes, reads);
	wrong |= read_at_random("reads of private memory", MAP_PRIVATE, 0, bytes, reads);
	wrong |= read_at_random("reads of private memory in huge pages", MAP_PRIVATE, 1, bytes, reads);
	wrong |= change_every_second_page("pages protected one by one", pieces, 0);
	wrong |= change_every_second_page("pages given back one by one", pieces, 1);
	return wrong;
}
