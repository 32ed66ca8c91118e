/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a kernel's operations cost, in ticks of the time stamp counter: under QEMU's -icount 1 tick is 1 instruction.
 * Prints `operation NAME TICKS` for one of each. Linked statically, run in a guest, on a host or in a process.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
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

static void map_and_touch(void)
{
	const size_t pages = 64, size = pages * 4096;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	require(memory != MAP_FAILED, "mmap");
	for (size_t page = 0; page < pages; page++)
		memory[page * 4096] = 1;
	munmap(memory, size);
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

static const struct operation {
	const char *name;
	void (*run)(void);
	unsigned times;
} operations[] = {
	{ "alu", alu, 1000 },
	{ "null_system_call", null_system_call, 2000 },
	{ "pipe", pipe_byte, 1000 },
	{ "context_switch", context_switch, 1000 },
	{ "map_and_touch", map_and_touch, 100 },
	{ "fork_and_wait", fork_and_wait, 100 },
	{ "fork_and_exec", fork_and_exec, 50 },
	{ "create_and_delete", create_and_delete, 500 },
};

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "exit") == 0)
		return 0;
	self = argv[0];
	setvbuf(stdout, NULL, _IONBF, 0);
	require(pipe(ends) == 0 && pipe(there) == 0 && pipe(back) == 0, "pipe");
	const pid_t echoing = fork();
	if (echoing == 0) {
		close(there[1]);
		echo();
	}
	for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
		const struct operation *operation = &operations[i];

		for (unsigned warm = 0; warm < operation->times / 10; warm++)
			operation->run();
		const uint64_t begin = ticks();
		for (unsigned time = 0; time < operation->times; time++)
			operation->run();
		printf("operation %s %.1f\n", operation->name, (double)(ticks() - begin) / operation->times);
	}
	close(there[1]);
	waitpid(echoing, NULL, 0);
	return 0;
}
