/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What mmap, mremap, mprotect, madvise and fork do to the contents of memory.
 */
#include "facility.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>

enum { page = 4096, pages = 300 };

static uint8_t *map(size_t bytes, int flags, int file)
{
	uint8_t *const memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, file, 0);

	require(memory != MAP_FAILED);
	return memory;
}

static void fill(uint8_t *memory, unsigned seed)
{
	for (unsigned i = 0; i < pages; i++)
		memset(memory + i * page, (int)((i * 7 + seed) % 251), page);
}

static int is_filled(const uint8_t *memory, unsigned seed)
{
	for (unsigned i = 0; i < pages * page; i++)
		if (memory[i] != (i / page * 7 + seed) % 251)
			return 0;
	return 1;
}

static int is_zero(const uint8_t *memory, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (memory[i] != 0)
			return 0;
	return 1;
}

static void moves(void)
{
	uint8_t *memory = map(pages * page, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	require(is_zero(memory, pages * page));
	fill(memory, 1);
	uint8_t *const elsewhere = map(4 * pages * page, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	memory = mremap(memory, pages * page, 4 * pages * page, MREMAP_MAYMOVE | MREMAP_FIXED, elsewhere);
	require(memory == elsewhere && is_filled(memory, 1));
	require(is_zero(memory + pages * page, 3 * pages * page));

	require(madvise(memory, page, MADV_DONTNEED) == 0 && is_zero(memory, page));
	memset(memory, 1, page);
	require(mprotect(memory, pages * page, PROT_READ) == 0 && is_filled(memory, 1));
	require(mprotect(memory, pages * page, PROT_READ | PROT_WRITE) == 0);
	fill(memory, 2);
	require(is_filled(memory, 2));
	require(munmap(memory, 4 * pages * page) == 0);
}

static void copies_on_write(void)
{
	uint8_t *const memory = map(pages * page, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	fill(memory, 3);
	const int child = fork();
	if (child == 0) {
		require(is_filled(memory, 3));
		fill(memory, 4);
		require(is_filled(memory, 4));
		_exit(0);
	}
	for (unsigned i = 0; i < pages; i += 2)
		memory[i * page] = (uint8_t)(i * 7 % 251 + 3);
	require_child(child);
	for (unsigned i = 0; i < pages; i += 2)
		memory[i * page] = (uint8_t)((i * 7 + 3) % 251);
	require(is_filled(memory, 3));
	require(munmap(memory, pages * page) == 0);
}

static void files_in_memory(void)
{
	const int file = open("/tmp/mapped", O_CREAT | O_TRUNC | O_RDWR, 0600);
	uint8_t byte;

	require(file >= 0 && ftruncate(file, pages * page) == 0);
	uint8_t *const shared = map(pages * page, MAP_SHARED, file);
	uint8_t *const again = map(pages * page, MAP_SHARED, file);
	uint8_t *const private = map(pages * page, MAP_PRIVATE, file);
	fill(shared, 5);
	require(is_filled(again, 5) && is_filled(private, 5));
	fill(private, 6);
	require(is_filled(private, 6) && is_filled(again, 5));
	require(msync(shared, pages * page, MS_SYNC) == 0);
	require(pread(file, &byte, 1, 9 * page) == 1 && byte == (9 * 7 + 5) % 251);
	byte = 99;
	require(pwrite(file, &byte, 1, 10 * page) == 1 && shared[10 * page] == 99 && again[10 * page] == 99);
	require(private[10 * page] == (10 * 7 + 6) % 251);
	require(close(file) == 0 && unlink("/tmp/mapped") == 0 && again[10 * page] == 99);
}

void mappings(void)
{
	moves();
	copies_on_write();
	files_in_memory();
}
