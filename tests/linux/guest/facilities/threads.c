/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Mutexes, condition variables and thread-local storage: futexes, clone and the FS base.
 */
#include "facility.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>

enum { thread_count = 8, increments = 2000, rounds = 200, short_lives = 200 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER;
static unsigned counter, turn;
static __thread uintptr_t own_number = 0x1234;

static void *count(void *argument)
{
	require(own_number == 0x1234);
	own_number = (uintptr_t)argument;
	for (unsigned i = 0; i < increments; i++) {
		pthread_mutex_lock(&mutex);
		const unsigned before = counter;
		if (i % 64 == 0)
			sched_yield(); /* the others run into the lock */
		counter = before + 1;
		pthread_mutex_unlock(&mutex);
		require(own_number == (uintptr_t)argument);
	}
	return argument;
}

/* Each waits for its turn, and gives the turn to the next. */
static void *take_turns(void *argument)
{
	const unsigned number = (unsigned)(uintptr_t)argument;

	for (unsigned round = 0; round < rounds; round++) {
		pthread_mutex_lock(&mutex);
		while (turn % thread_count != number)
			pthread_cond_wait(&turn_changed, &mutex);
		require(turn / thread_count == round);
		turn++;
		pthread_cond_broadcast(&turn_changed);
		pthread_mutex_unlock(&mutex);
	}
	return argument;
}

static void *return_argument(void *argument)
{
	return argument;
}

static void run_all(void *(*function)(void *))
{
	pthread_t all[thread_count];

	for (uintptr_t i = 0; i < thread_count; i++)
		require(pthread_create(&all[i], NULL, function, (void *)i) == 0);
	for (uintptr_t i = 0; i < thread_count; i++) {
		void *result;

		require(pthread_join(all[i], &result) == 0);
		require((uintptr_t)result == i);
	}
}

void threads(void)
{
	run_all(count);
	require(counter == thread_count * increments);
	run_all(take_turns);
	require(turn == thread_count * rounds);
	for (uintptr_t i = 0; i < short_lives; i++) {
		pthread_t thread;
		void *result;

		require(pthread_create(&thread, NULL, return_argument, (void *)i) == 0);
		require(pthread_join(thread, &result) == 0 && (uintptr_t)result == i);
	}
	require(own_number == 0x1234);
}
