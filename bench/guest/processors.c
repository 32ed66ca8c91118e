/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Measures the common work of several processors, and the interrupts that one sends to the others.
 *   processors count                 how many this program may use: processors count NUMBER
 *   processors row NAME SECONDS      measures for so long
 *   processors command NAME COMMAND  measures one run of a command
 * The last two print: processors row NAME NANOSECONDS, by this kernel's clock.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { page_size = 4096, pages = 4096, steps = 1 << 27, rounds_at_once = 16 };

static unsigned processors[CPU_SETSIZE];
static unsigned count;
static const char *program;
static uint64_t deadline; /* of the row */
static volatile uint64_t sink;

static void require(int condition, const char *what)
{
	if (!condition) {
		perror(what);
		exit(1);
	}
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void find_processors(void)
{
	cpu_set_t ours;

	require(sched_getaffinity(0, sizeof ours, &ours) == 0, "sched_getaffinity");
	for (unsigned number = 0; number < CPU_SETSIZE; number++)
		if (CPU_ISSET(number, &ours))
			processors[count++] = number;
}

/* This thread. */
static void pin(unsigned number)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(processors[number], &one);
	require(sched_setaffinity(0, sizeof one, &one) == 0, "sched_setaffinity");
}

static pthread_t start(void *(*run)(void *), void *argument)
{
	pthread_t thread;

	require(pthread_create(&thread, NULL, run, argument) == 0, "pthread_create");
	return thread;
}

static void finish(pthread_t thread)
{
	require(pthread_join(thread, NULL) == 0, "pthread_join");
}

/* The time of one, of all that were done since. */
static double share_of(uint64_t begin, uint64_t done)
{
	return (double)(now() - begin) / (double)done;
}

struct worker {
	unsigned number;
	uint64_t done;
	pthread_t thread;
};

/* A thread on each processor; what all have done. */
static uint64_t on_each(void *(*run)(void *))
{
	static struct worker workers[CPU_SETSIZE];
	uint64_t done = 0;

	for (unsigned number = 0; number < count; number++) {
		workers[number].number = number;
		workers[number].thread = start(run, &workers[number]);
	}
	for (unsigned number = 0; number < count; number++) {
		finish(workers[number].thread);
		done += workers[number].done;
	}
	return done;
}

static void *do_steps(void *argument)
{
	struct worker *worker = argument;
	uint64_t value = worker->number;

	pin(worker->number);
	for (unsigned step = 0; step < steps / count; step++)
		value = value * 6364136223846793005 + 1442695040888963407;
	sink = value;
	return NULL;
}

static double compute(void)
{
	const uint64_t begin = now();

	on_each(do_steps);
	return (double)(now() - begin);
}

static void *touch_pages(void *argument)
{
	struct worker *worker = argument;

	pin(worker->number);
	char *memory = mmap(NULL, (size_t)pages * page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	require(memory != MAP_FAILED, "mmap");
	madvise(memory, (size_t)pages * page_size, MADV_NOHUGEPAGE); /* some kernels have none */
	do {
		for (size_t page = 0; page < pages; page++)
			memory[page * page_size] = 1;
		worker->done += pages;
		require(madvise(memory, (size_t)pages * page_size, MADV_DONTNEED) == 0, "madvise");
	} while (now() < deadline);
	return NULL;
}

static double page_faults(void)
{
	const uint64_t begin = now();
	const uint64_t done = on_each(touch_pages);

	return share_of(begin, done);
}

static int run_program(char *const arguments[])
{
	int status = 0;
	const pid_t child = fork();

	if (child == 0) {
		execvp(arguments[0], arguments);
		_exit(127);
	}
	require(child > 0 && waitpid(child, &status, 0) == child, "fork");
	return status;
}

static double fork_exec(void)
{
	char *const arguments[] = {(char *)program, (char *)"exit", NULL};
	uint64_t *done = mmap(NULL, count * sizeof *done, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t all = 0;
	int status = 0;

	require(done != MAP_FAILED, "mmap");
	const uint64_t begin = now();
	for (unsigned number = 0; number < count; number++) {
		const pid_t worker = fork();

		require(worker >= 0, "fork");
		if (worker == 0) {
			pin(number);
			do {
				require(run_program(arguments) == 0, program);
				done[number]++;
			} while (now() < deadline);
			_exit(0);
		}
	}
	for (unsigned number = 0; number < count; number++)
		require(wait(&status) > 0 && status == 0, "a process that forks");
	for (unsigned number = 0; number < count; number++)
		all += done[number];
	return share_of(begin, all);
}

static int there[2];
static int back[2];

static void *answer_bytes(void *argument)
{
	char byte;

	(void)argument;
	pin(count - 1);
	while (read(there[0], &byte, 1) == 1)
		require(write(back[1], &byte, 1) == 1, "write");
	return NULL;
}

static double pipe_across(void)
{
	uint64_t rounds = 0;
	char byte = 0;

	require(pipe(there) == 0 && pipe(back) == 0, "pipe");
	const pthread_t other = start(answer_bytes, NULL);
	pin(0);
	const uint64_t begin = now();
	do {
		for (unsigned i = 0; i < rounds_at_once; i++)
			require(write(there[1], &byte, 1) == 1 && read(back[0], &byte, 1) == 1, "pipe");
		rounds += rounds_at_once;
	} while (now() < deadline);
	const double took = share_of(begin, rounds);
	close(there[1]);
	finish(other);
	return took;
}

enum { ours, others, nobodys };
static _Atomic uint32_t turn = ours;

static void give_turn(uint32_t next)
{
	atomic_store(&turn, next);
	syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL);
}

static void wait_while(uint32_t value)
{
	while (atomic_load(&turn) == value)
		syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, value, NULL);
}

static void *answer_turns(void *argument)
{
	(void)argument;
	pin(count - 1);
	for (wait_while(ours); atomic_load(&turn) != nobodys; wait_while(ours))
		give_turn(ours);
	return NULL;
}

static double futex_across(void)
{
	uint64_t rounds = 0;
	const pthread_t other = start(answer_turns, NULL);

	pin(0);
	const uint64_t begin = now();
	do {
		for (unsigned i = 0; i < rounds_at_once; i++) {
			give_turn(others);
			wait_while(others);
		}
		rounds += rounds_at_once;
	} while (now() < deadline);
	const double took = share_of(begin, rounds);
	give_turn(nobodys);
	finish(other);
	return took;
}

static volatile char *shared_page;
static _Atomic unsigned busy;
static atomic_bool stop;

/* In user mode all the time, with the page in the TLB. */
static void *keep_busy(void *argument)
{
	const struct worker *worker = argument;

	if (worker->number == 0)
		return NULL;
	pin(worker->number);
	atomic_fetch_add(&busy, 1);
	while (!atomic_load_explicit(&stop, memory_order_relaxed))
		(void)*shared_page;
	return NULL;
}

static void *keep_all_busy(void *argument)
{
	(void)argument;
	on_each(keep_busy);
	return NULL;
}

/* Of one call of `interrupt`, on the first processor, while all others execute a thread of this process. */
static double interrupt_others(void (*interrupt)(void))
{
	uint64_t rounds = 0;

	shared_page = mmap(NULL, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	require(shared_page != MAP_FAILED, "mmap");
	const pthread_t others_are_busy = start(keep_all_busy, NULL);
	pin(0);
	while (atomic_load(&busy) != count - 1)
		sched_yield();
	const uint64_t begin = now();
	do {
		for (unsigned i = 0; i < rounds_at_once; i++)
			interrupt();
		rounds += rounds_at_once;
	} while (now() < deadline);
	const double took = share_of(begin, rounds);
	atomic_store(&stop, 1);
	finish(others_are_busy);
	return took;
}

static void have_barrier(void)
{
	require(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0, "membarrier");
}

static double membarrier_of_all(void)
{
	require(syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0, "membarrier");
	return interrupt_others(have_barrier);
}

static void protect_page(void)
{
	*shared_page = 1;
	require(mprotect((void *)shared_page, page_size, PROT_READ) == 0, "mprotect");
	require(mprotect((void *)shared_page, page_size, PROT_READ | PROT_WRITE) == 0, "mprotect");
}

static double tlb_shootdown(void)
{
	return interrupt_others(protect_page);
}

static const struct {
	const char *name;
	double (*measure)(void);
} rows[] = {
	{"compute", compute},           {"page_faults", page_faults},     {"fork_exec", fork_exec},
	{"pipe_across", pipe_across},   {"futex_across", futex_across},   {"membarrier", membarrier_of_all},
	{"tlb_shootdown", tlb_shootdown},
};

static int print_row(const char *name, double nanoseconds)
{
	printf("processors row %s %.1f\n", name, nanoseconds);
	return 0;
}

static int measure_row(const char *name, const char *seconds)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (strcmp(name, rows[i].name) == 0) {
			deadline = now() + strtoull(seconds, NULL, 10) * 1000000000;
			return print_row(name, rows[i].measure());
		}
	}
	fprintf(stderr, "processors: no row is called %s\n", name);
	return 1;
}

static int measure_command(const char *name, char *const command[])
{
	const uint64_t begin = now();
	const int status = run_program(command);

	return status == 0 ? print_row(name, (double)(now() - begin)) : 1;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	program = argv[0];
	if (strcmp(what, "exit") == 0)
		return 0;
	find_processors();
	if (strcmp(what, "count") == 0)
		return printf("processors count %u\n", count) < 0;
	if (strcmp(what, "row") == 0 && argc == 4)
		return measure_row(argv[2], argv[3]);
	if (strcmp(what, "command") == 0 && argc > 3)
		return measure_command(argv[2], argv + 3);
	fputs("usage: processors count | row NAME SECONDS | command NAME COMMAND ...\n", stderr);
	return 2;
}
