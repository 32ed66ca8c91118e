/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A thread may have three descriptors of its own (set_thread_area). What a register was loaded with stays in it when the
 * descriptor changes or another thread runs, and the next load finds what the thread itself has put there last.
 */
#include "part.h"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <signal.h>

enum { turns = 1000, thread_count = 4, last_word = 7 };
enum { of_32_bits = 1, in_use = 0x40, empty = 0x28, any_level = 3 };

static uint32_t words[thread_count][last_word + 1];

uint16_t set_segment(struct descriptor *descriptor, const uint32_t *first_word)
{
	descriptor->base = (uint32_t)(uintptr_t)first_word;
	descriptor->limit = sizeof words[0] - 1;
	descriptor->flags = of_32_bits | in_use;
	require(syscall(SYS_set_thread_area, descriptor) == 0);
	return (uint16_t)((unsigned)descriptor->index << 3 | any_level);
}

#define LOAD(segment, selector) asm volatile("mov %0, %%" #segment : : "r"((uint32_t)(selector)))
#define WORD(segment, number) ({ \
	uint32_t word_; \
	asm volatile("mov %%" #segment ":%c1, %0" : "=r"(word_) : "i"((number) * 4)); \
	word_; \
})
#define SELECTOR(segment) ({ \
	uint32_t selector_; \
	asm volatile("mov %%" #segment ", %0" : "=r"(selector_)); \
	selector_ & 0xffff; \
})

static void one_thread(void)
{
	struct descriptor first = { .index = -1 }, second = { .index = -1 }, third = { .index = -1 };
	const uint16_t selector = set_segment(&first, words[0]);
	const uint16_t other = set_segment(&second, words[1]);

	third.flags = of_32_bits | in_use;
	third.limit = 1;
	require(other == selector + 8);
	require(syscall(SYS_set_thread_area, &third) != 0 && errno == ESRCH); /* the C library has the first one */
	LOAD(fs, selector);
	LOAD(es, other);
	require(WORD(fs, 0) == 0 && WORD(fs, last_word) == 7 && WORD(es, 1) == 101);
	asm volatile("movl $55, %%es:4" : : : "memory");
	require(words[1][1] == 55);
	words[1][1] = 101;
	asm volatile("mov %%ds, %%eax\n mov %%eax, %%es" : : : "eax");
	/* Nothing has this selector loaded: the kernel need not load it either. */
	LOAD(fs, 0);
	for (unsigned i = 0; i < turns; i++) {
		set_segment(&first, words[i % thread_count]);
		LOAD(fs, selector);
		require(WORD(fs, 2) == i % thread_count * 100 + 2);
		LOAD(fs, 0);
	}
}

static void remove_segment(struct descriptor *descriptor)
{
	descriptor->base = descriptor->limit = 0;
	descriptor->flags = empty;
	require(syscall(SYS_set_thread_area, descriptor) == 0);
}

/* A segment that is none any more. */
static void faults(void)
{
	struct descriptor descriptor = { .index = -1 };
	const uint16_t selector = set_segment(&descriptor, words[0]);
	int status;
	const pid_t child = fork();

	if (child == 0) {
		LOAD(fs, selector);
		remove_segment(&descriptor);
		LOAD(fs, selector);
		_exit(0);
	}
	require(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	remove_segment(&descriptor);
}

/* All threads have the same entry, with bases of their own. Every second one loads the selector each time. */
static void *take_turns(void *argument)
{
	const unsigned number = (unsigned)(uintptr_t)argument;
	struct descriptor descriptor = { .index = -1 };
	const uint16_t selector = set_segment(&descriptor, words[number]);

	if (number % 2 == 0)
		LOAD(fs, selector);
	for (unsigned i = 0; i < turns; i++) {
		if (number % 2 != 0)
			LOAD(fs, selector);
		require(WORD(fs, 3) == number * 100 + 3 && SELECTOR(fs) == selector);
		if (number % 2 != 0)
			LOAD(fs, 0);
		sched_yield();
	}
	return NULL;
}

void segments(void)
{
	pthread_t threads[thread_count];

	for (unsigned i = 0; i < thread_count; i++)
		for (unsigned k = 0; k <= last_word; k++)
			words[i][k] = i * 100 + k;
	for (uintptr_t i = 0; i < thread_count; i++)
		require(pthread_create(&threads[i], NULL, take_turns, (void *)i) == 0);
	for (unsigned i = 0; i < thread_count; i++)
		require(pthread_join(threads[i], NULL) == 0);
	faults();
	one_thread();
}
