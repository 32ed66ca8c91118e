/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Does each of some operations many times, between two codes for the port of a power-on self test: whoever runs this
 * machine counts there how often the processor left the guest. Then prints `marked NAME TIMES` for each, in that order;
 * the first is `nothing`.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static const char *self;

static void require(int condition, const char *what)
{
	if (!condition) {
		perror(what);
		exit(1);
	}
}

static void mark(void)
{
	enum { post_port = 0x80 };
	static unsigned char code;

	outb(code++, post_port);
}

/* Each returns the number of its repetitions. */

static unsigned nothing(void)
{
	return 1;
}

static unsigned null_system_calls(void)
{
	enum { times = 1000 };

	for (int i = 0; i < times; i++)
		syscall(SYS_getppid);
	return times;
}

static unsigned programs(void)
{
	enum { times = 20 };

	for (int i = 0; i < times; i++) {
		pid_t child = fork();
		int status;

		if (child == 0) {
			execl(self, self, "end", NULL);
			_exit(1);
		}
		require(child > 0 && waitpid(child, &status, 0) == child && status == 0, "fork and exec");
	}
	return times;
}

static unsigned page_touches(void)
{
	enum { times = 500, page = 4096 };
	char *memory = mmap(NULL, times * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	require(memory != MAP_FAILED, "mmap");
	for (int i = 0; i < times; i++)
		memory[i * page] = 1;
	munmap(memory, times * page);
	return times;
}

/* The count of an interrupt line until now. */
static unsigned interrupts(const char *line)
{
	FILE *file = fopen("/proc/interrupts", "r");
	char text[256];
	unsigned count = 0;

	require(file != NULL, "/proc/interrupts");
	while (fgets(text, sizeof(text), file)) {
		char name[16];
		unsigned value;

		if (sscanf(text, " %15[^:]: %u", name, &value) == 2 && !strcmp(name, line))
			count = value;
	}
	fclose(file);
	return count;
}

static unsigned timer_ticks(void)
{
	unsigned before = interrupts("0");
	struct timespec start, now;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < 400);
	return interrupts("0") - before;
}

static unsigned idle_periods(void)
{
	enum { times = 40 };
	const struct timespec period = {.tv_nsec = 10000000};

	for (int i = 0; i < times; i++)
		nanosleep(&period, NULL);
	return times;
}

static int serial;

static unsigned serial_bytes(void)
{
	enum { lines = 20, length = 64 };
	char line[length];

	memset(line, '.', length);
	line[length - 1] = '\n';
	for (int i = 0; i < lines; i++) {
		require(write(serial, line, length) == length, "/dev/ttyS0");
		require(tcdrain(serial) == 0, "/dev/ttyS0");
	}
	return lines * length;
}

/* An interrupt of the UART, through an 8259A: its transmitter is empty. */
static unsigned serial_interrupts(void)
{
	enum { times = 64 };
	unsigned before = interrupts("4");

	for (int i = 0; i < times; i++) {
		require(write(serial, i % times == times - 1 ? "\n" : ".", 1) == 1, "/dev/ttyS0");
		require(tcdrain(serial) == 0, "/dev/ttyS0");
	}
	return interrupts("4") - before;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		unsigned (*run)(void);
	} operations[] = {
		{"nothing", nothing},		    {"null_system_call", null_system_calls},
		{"fork_and_exec", programs},	    {"page_touch", page_touches},
		{"timer_tick", timer_ticks},	    {"idle_10_ms", idle_periods},
		{"serial_byte", serial_bytes},	    {"serial_interrupt", serial_interrupts},
	};
	enum { count = sizeof(operations) / sizeof(operations[0]) };
	unsigned times[count];

	if (argc > 1)
		return 0;
	self = argv[0];
	require(ioperm(0x80, 1, 1) == 0, "ioperm");
	serial = open("/dev/ttyS0", O_WRONLY | O_NOCTTY);
	require(serial >= 0, "/dev/ttyS0");
	for (int i = 0; i < count; i++) {
		operations[i].run(); /* afterwards its pages are in memory */
		mark();
		times[i] = operations[i].run();
		mark();
	}
	for (int i = 0; i < count; i++)
		printf("marked %s %u\n", operations[i].name, times[i]);
	return 0;
}
