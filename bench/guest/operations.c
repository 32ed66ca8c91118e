/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The operations of a kernel that are measured, in a guest, on a host or in a process.
 */
#include "operations.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *self;

uint64_t ticks(void)
{
	uint32_t low, high;

	__asm__ volatile("lfence; rdtsc; lfence" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
}

void require(int condition, const char *what)
{
	if (!condition) {
		perror(what);
		exit(1);
	}
}

/* 100 dependent additions: must cost the same on every kernel. */
static void alu(void)
{
	unsigned long value = 1;

	for (int i = 0; i < 100; i++)
		__asm__ volatile("add %0, %0" : "+r"(value));
}

static void null_system_call(void)
{
	syscall(SYS_getppid);
}

/* Without a system call, where the vDSO can read the kernel's clock. */
static void read_clock(void)
{
	struct timespec now;

	require(clock_gettime(CLOCK_MONOTONIC, &now) == 0, "clock_gettime");
}

static void clock_system_call(void)
{
	struct timespec now;

	require(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now) == 0, "clock_gettime");
}

static int null;

static void write_to_null(void)
{
	const char byte = 0;

	require(write(null, &byte, 1) == 1, "write");
}

static int ends[2];

/* Whether there is something in an empty pipe. */
static void select_pipe(void)
{
	fd_set readable;
	struct timeval at_once = { 0, 0 };

	FD_ZERO(&readable);
	FD_SET(ends[0], &readable);
	require(select(ends[0] + 1, &readable, NULL, NULL, &at_once) == 0, "select");
}

static void pipe_byte(void)
{
	char byte = 0;

	require(write(ends[1], &byte, 1) == 1, "write");
	require(read(ends[0], &byte, 1) == 1, "read");
}

static int there[2], back[2];

static void echo(void)
{
	char byte;

	while (read(there[0], &byte, 1) == 1)
		require(write(back[1], &byte, 1) == 1, "write");
	_exit(0);
}

/* To another process and back: two switches. */
static void context_switch(void)
{
	char byte = 0;

	require(write(there[1], &byte, 1) == 1, "write");
	require(read(back[0], &byte, 1) == 1, "read");
}

static void caught(int number)
{
	(void)number;
}

static void catch_signal(void)
{
	require(signal(SIGUSR1, caught) != SIG_ERR, "signal");
}

static void signal_self(void)
{
	require(raise(SIGUSR1) == 0, "raise");
}

enum { page_size = 4096, some_pages = 64, many_pages = 10000 };

char *memory;
static size_t memory_size, touched;

void map_pages(size_t pages)
{
	memory_size = pages * page_size;
	memory = mmap(NULL, memory_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	require(memory != MAP_FAILED, "mmap");
	touched = 0;
}

void unmap_pages(void)
{
	require(munmap(memory, memory_size) == 0, "munmap");
}

static void touch_page(void)
{
	memory[touched++ * page_size] = 1;
}

static void map_many_pages(void)
{
	map_pages(many_pages);
	/* Fails where the kernel has no huge pages. */
	madvise(memory, memory_size, MADV_NOHUGEPAGE);
}

static void map_and_unmap(void)
{
	map_pages(some_pages);
	unmap_pages();
}

static void map_and_touch_some(void)
{
	map_pages(some_pages);
	while (touched < some_pages)
		touch_page();
}

static void map_and_touch(void)
{
	map_and_touch_some();
	unmap_pages();
}

static void protect_twice(void)
{
	require(mprotect(memory, memory_size, PROT_READ) == 0, "mprotect");
	require(mprotect(memory, memory_size, PROT_READ | PROT_WRITE) == 0, "mprotect");
}

static void fork_and_wait(void)
{
	const pid_t child = fork();

	if (child == 0)
		_exit(0);
	require(child > 0 && waitpid(child, NULL, 0) == child, "fork");
}

static void fork_and_exec(void)
{
	const pid_t child = fork();

	if (child == 0) {
		execl(self, self, "exit", NULL);
		_exit(1);
	}
	require(child > 0 && waitpid(child, NULL, 0) == child, "exec");
}

const char *scratch_file = "/tmp/operations-file";

static void create(void)
{
	const int file = open(scratch_file, O_CREAT | O_WRONLY | O_EXCL, 0600);

	require(file >= 0, scratch_file);
	close(file);
}

static void delete(void)
{
	require(unlink(scratch_file) == 0, "unlink");
}

static void create_and_delete(void)
{
	create();
	delete();
}

static void stat_file(void)
{
	struct stat found;

	require(stat(scratch_file, &found) == 0, scratch_file);
}

static void nothing(void)
{
}

const struct operation operations[] = {
	{ "alu", alu, 1000, nothing, nothing, 0 },
	{ "null_system_call", null_system_call, 2000, nothing, nothing, 0 },
	{ "clock_gettime", read_clock, 2000, nothing, nothing, 0 },
	{ "clock_system_call", clock_system_call, 2000, nothing, nothing, 0 },
	{ "write_to_null", write_to_null, 2000, nothing, nothing, 0 },
	{ "stat", stat_file, 1000, create, delete, 0 },
	{ "select", select_pipe, 1000, nothing, nothing, 0 },
	{ "signal", signal_self, 1000, catch_signal, nothing, 0 },
	{ "pipe", pipe_byte, 1000, nothing, nothing, 0 },
	{ "context_switch", context_switch, 1000, nothing, nothing, 0 },
	{ "page_touch", touch_page, many_pages / 10, map_many_pages, unmap_pages, many_pages - many_pages / 10 },
	{ "protect_twice", protect_twice, 200, map_and_touch_some, unmap_pages, 0 },
	{ "map_and_unmap", map_and_unmap, 500, nothing, nothing, 0 },
	{ "map_and_touch", map_and_touch, 100, nothing, nothing, 0 },
	{ "fork_and_wait", fork_and_wait, 100, nothing, nothing, 0 },
	{ "fork_and_exec", fork_and_exec, 50, nothing, nothing, 0 },
	{ "create_and_delete", create_and_delete, 500, nothing, nothing, 0 },
};

const size_t operation_count = sizeof operations / sizeof *operations;

static pid_t echoing;

void begin_operations(const char *program)
{
	self = program;
	null = open("/dev/null", O_WRONLY);
	require(null >= 0, "/dev/null");
	require(pipe(ends) == 0 && pipe(there) == 0 && pipe(back) == 0, "pipe");
	echoing = fork();
	require(echoing >= 0, "fork");
	if (echoing == 0) {
		close(there[1]);
		echo();
	}
}

void end_operations(void)
{
	close(there[1]);
	waitpid(echoing, NULL, 0);
}

void repeat(const struct operation *operation, unsigned times)
{
	for (unsigned time = 0; time < times; time++)
		operation->run();
}

void print_kernel(void)
{
	struct utsname kernel;

	require(uname(&kernel) == 0, "uname");
	printf("kernel %s %s %s\n", kernel.sysname, kernel.release, kernel.version);
}
