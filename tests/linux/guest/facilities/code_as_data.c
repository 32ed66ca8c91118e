/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Processes share a page of code, and some only read it: translators of code, debuggers. A VMM may have others
 * execute a changed copy of it; whoever reads finds what the file holds.
 */
#include "facility.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { page = 4096, calls = 1000 };

/* mov $SYS_close,%eax; syscall; cmp $-4096,%rax; ret: a call as C libraries make it */
static uint8_t code[] = { 0xb8, SYS_close, 0, 0, 0, 0x0f, 0x05, 0x48, 0x3d, 0x00, 0xf0, 0xff, 0xff, 0xc3 };

/* mov $-EBADF,%rax; ret */
static const uint8_t without_call[] = { 0x48, 0xc7, 0xc0, (uint8_t)-EBADF, 0xff, 0xff, 0xff, 0xc3 };

static void *map_code(int file)
{
	void *const memory = mmap(NULL, 2 * page, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);

	require(memory != MAP_FAILED);
	return memory;
}

static void execute(const void *memory, int times)
{
	long (*close_file)(int file);

	memcpy(&close_file, &memory, sizeof close_file);
	for (int i = 0; i < times; i++)
		require(close_file(-1) == -EBADF);
}

static void require_contents(const void *memory)
{
	require(memcmp(memory, code, sizeof code) == 0);
}

/* The kernel reads too. */
static void require_written(const void *memory)
{
	uint8_t read_back[sizeof code];
	int ends[2];

	require(pipe(ends) == 0 && write(ends[1], memory, sizeof code) == sizeof code);
	require(read(ends[0], read_back, sizeof code) == sizeof code);
	require_contents(read_back);
	require(close(ends[0]) == 0 && close(ends[1]) == 0);
}

static void run_child(void (*run)(const void *memory), const void *memory)
{
	fflush(stdout);
	const int child = fork();

	if (child == 0) {
		run(memory);
		fflush(stdout);
		_exit(0);
	}
	require_child(child);
}

static void execute_often(const void *memory)
{
	execute(memory, calls);
}

static void read_first(const void *memory)
{
	require_contents(memory);
	require_written(memory);
	run_child(require_contents, memory);
	execute(memory, calls);
	run_child(require_contents, memory);
	run_child(execute_often, memory);
}

static void write_first(const void *memory)
{
	require_written(memory);
	require_contents(memory);
	execute(memory, calls);
}

static void execute_neighbour(const void *memory)
{
	execute((const uint8_t *)memory + page, 1);
	execute(memory, calls);
}

void code_as_data(void)
{
	const int file = open("/tmp/code", O_CREAT | O_TRUNC | O_RDWR, 0700);

	require(file >= 0 && ftruncate(file, 2 * page) == 0);
	require(pwrite(file, code, sizeof code, 0) == sizeof code);
	require(pwrite(file, without_call, sizeof without_call, page) == sizeof without_call);
	const void *const memory = map_code(file);
	for (int i = 0; i < 2; i++) {
		run_child(execute_often, memory);
		run_child(read_first, memory);
		run_child(write_first, memory);
		run_child(execute_neighbour, memory);
		run_child(execute_often, map_code(file));
		code[1] = SYS_dup; /* other code from here on */
		require(pwrite(file, code, sizeof code, 0) == sizeof code);
	}
	require(unlink("/tmp/code") == 0 && close(file) == 0);
}
