/* SPDX-License-Identifier: BSD-2-Clause */
#include "endurance.h"

#include <pthread.h>

enum { thread_count = 10, turns = 20000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed[thread_count];
static uint32_t turn;
static __thread uint32_t own_turns;

/* Each wakes the next, until all turns were taken. */
static void *take_turns(void *argument)
{
	const uint32_t number = (uint32_t)(uintptr_t)argument;

	pthread_mutex_lock(&mutex);
	while (turn < share(turns)) {
		if (turn % thread_count != number) {
			pthread_cond_wait(&changed[number], &mutex);
			continue;
		}
		turn++;
		own_turns++;
		pthread_cond_signal(&changed[(number + 1) % thread_count]);
	}
	for (unsigned i = 0; i < thread_count; i++)
		pthread_cond_signal(&changed[i]);
	pthread_mutex_unlock(&mutex);
	return (void *)(uintptr_t)own_turns;
}

uint64_t hand_over_between_threads(void)
{
	pthread_t threads[thread_count];
	uint64_t taken = 0;

	for (uintptr_t i = 0; i < thread_count; i++)
		require(pthread_cond_init(&changed[i], NULL) == 0, "pthread_cond_init");
	for (uintptr_t i = 0; i < thread_count; i++)
		require(pthread_create(&threads[i], NULL, take_turns, (void *)i) == 0, "pthread_create");
	for (uintptr_t i = 0; i < thread_count; i++) {
		void *result;

		require(pthread_join(threads[i], &result) == 0, "pthread_join");
		taken += (uintptr_t)result;
	}
	return taken;
}
