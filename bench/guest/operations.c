/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a kernel's operations cost, in ticks of the time stamp counter: under QEMU's -icount 1 tick is 1 instruction.
 * Prints `kernel WHICH`, then `operation NAME TICKS` for one of each. Linked statically, run in a guest, on a host or
 * in a process.
 * With again=NAME in the environment that operation runs many times more at the end, untimed, and `again NAME TIMES` is
 * printed; with again=none none does. What is counted over a whole run is then known of one operation, by difference.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *self;

static uint64_t ticks(void)
{
	uint32_t low, high;

	__asm__ volatile("lfence; rdtsc; lfence" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
}

static void require(int condition, const char *what)
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

static int ends[2];

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

enum { page_size = 4096, some_pages = 64, page_touches = 1000, longer = 10 /* times as often again */ };

static char *memory;
static size_t memory_size, touched;

static void map_pages(size_t pages)
{
	memory_size = pages * page_size;
	memory = mmap(NULL, memory_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	require(memory != MAP_FAILED, "mmap");
	touched = 0;
}

static void unmap_pages(void)
{
	require(munmap(memory, memory_size) == 0, "munmap");
}

static void touch_page(void)
{
	memory[touched++ * page_size] = 1;
}

static void map_many_pages(void)
{
	map_pages(longer * page_touches);
	/* Fails where the kernel has no huge pages. */
	madvise(memory, memory_size, MADV_NOHUGEPAGE);
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

static void create_and_delete(void)
{
	const int file = open("/tmp/operations-file", O_CREAT | O_WRONLY | O_EXCL, 0600);

	require(file >= 0, "/tmp/operations-file");
	close(file);
	require(unlink("/tmp/operations-file") == 0, "unlink");
}

static void nothing(void)
{
}

static const struct operation {
	const char *name;
	void (*run)(void);
	unsigned times;
	void (*prepare)(void);
	void (*finish)(void);
} operations[] = {
	{ "alu", alu, 1000, nothing, nothing },
	{ "null_system_call", null_system_call, 2000, nothing, nothing },
	{ "signal", signal_self, 1000, catch_signal, nothing },
	{ "pipe", pipe_byte, 1000, nothing, nothing },
	{ "context_switch", context_switch, 1000, nothing, nothing },
	{ "page_touch", touch_page, page_touches, map_many_pages, unmap_pages },
	{ "protect_twice", protect_twice, 200, map_and_touch_some, unmap_pages },
	{ "map_and_touch", map_and_touch, 100, nothing, nothing },
	{ "fork_and_wait", fork_and_wait, 100, nothing, nothing },
	{ "fork_and_exec", fork_and_exec, 50, nothing, nothing },
	{ "create_and_delete", create_and_delete, 500, nothing, nothing },
};
#define OPERATIONS (sizeof operations / sizeof *operations)

static void repeat(const struct operation *operation, unsigned times)
{
	for (unsigned time = 0; time < times; time++)
		operation->run();
}

static void measure(const struct operation *operation)
{
	operation->prepare();
	repeat(operation, operation->times / 10);
	const uint64_t begin = ticks();
	repeat(operation, operation->times);
	const uint64_t end = ticks();
	operation->finish();
	printf("operation %s %.1f\n", operation->name, (double)(end - begin) / operation->times);
}

/* What prepares and finishes an operation is done in every run, so that the difference is the operation alone. */
static void run_again(const char *name)
{
	int found = name == NULL || strcmp(name, "none") == 0;

	for (size_t i = 0; i < OPERATIONS; i++) {
		const struct operation *operation = &operations[i];
		const int wanted = name != NULL && strcmp(name, operation->name) == 0;

		operation->prepare();
		repeat(operation, wanted ? longer * operation->times : 0);
		operation->finish();
		if (wanted)
			printf("again %s %u\n", name, longer * operation->times);
		found |= wanted;
	}
	if (!found) {
		fprintf(stderr, "again: no operation is called %s\n", name);
		exit(1);
	}
}

static void print_kernel(void)
{
	struct utsname kernel;

	require(uname(&kernel) == 0, "uname");
	printf("kernel %s %s %s\n", kernel.sysname, kernel.release, kernel.version);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "exit") == 0)
		return 0;
	self = argv[0];
	setvbuf(stdout, NULL, _IONBF, 0);
	print_kernel();
	require(pipe(ends) == 0 && pipe(there) == 0 && pipe(back) == 0, "pipe");
	const pid_t echoing = fork();
	if (echoing == 0) {
		close(there[1]);
		echo();
	}
	for (size_t i = 0; i < OPERATIONS; i++)
		measure(&operations[i]);
	run_again(getenv("again"));
	close(there[1]);
	waitpid(echoing, NULL, 0);
	return 0;
}
