/* SPDX-License-Identifier: BSD-2-Clause */
#include "cliffs.h"

#include <sys/mman.h>
#include <unistd.h>

static const char *const switch_of_huge_pages = "/sys/kernel/mm/transparent_hugepage/enabled";

static uint8_t original(size_t page)
{
	return (uint8_t)(page * 31 + page / 256);
}

/* Pages of one remainder by 3 were changed, by this much. */
static unsigned wrong_pages(const volatile uint8_t *memory, size_t pages, size_t remainder, uint8_t change)
{
	unsigned wrong = 0;

	for (size_t page = 0; page < pages; page++) {
		const uint8_t expected = (uint8_t)(original(page) + (page % 3 == remainder ? change : 0));

		wrong += memory[page * page_size] != expected || memory[page * page_size + 1] != 0;
	}
	return wrong;
}

static void change_pages(volatile uint8_t *memory, size_t pages, size_t remainder, uint8_t change)
{
	for (size_t page = remainder; page < pages; page += 3)
		memory[page * page_size] = (uint8_t)(original(page) + change);
}

/* Both sides write, at the same time, to different pages of what was one huge page. */
unsigned fork_huge_pages(size_t bytes)
{
	const size_t pages = bytes / page_size;
	unsigned wrong = 0;

	write_file(switch_of_huge_pages, "always");
	volatile uint8_t *const memory = map(bytes, MAP_PRIVATE);
	for (size_t page = 0; page < pages; page++)
		memory[page * page_size] = original(page);
	const pid_t child = fork();

	require(child >= 0, "fork");
	if (child == 0) {
		change_pages(memory, pages, 1, 7);
		_exit(wrong_pages(memory, pages, 1, 7) != 0);
	}
	change_pages(memory, pages, 2, 11);
	wrong += wrong_pages(memory, pages, 2, 11);
	wrong += wait_for(child);
	wrong += wrong_pages(memory, pages, 2, 11);
	munmap((void *)(uintptr_t)memory, bytes);
	write_file(switch_of_huge_pages, "madvise");
	return wrong;
}
