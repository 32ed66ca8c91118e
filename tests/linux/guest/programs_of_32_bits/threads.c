/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Each thread has its own data, also if the kernel takes the processor from it at any instruction.
 */
#include "part.h"

#include <pthread.h>
#include <sched.h>

enum { count = 6, rounds = 100, additions = 2000 };

static __thread volatile uint32_t mine = 5;

static void *run(void *argument)
{
	const uint32_t add = (uint32_t)(uintptr_t)argument;

	for (unsigned i = 0; i < rounds; i++) {
		for (unsigned k = 0; k < additions; k++)
			mine += add;
		sched_yield();
	}
	return (void *)(uintptr_t)mine;
}

void threads(void)
{
	pthread_t all[count];

	for (uintptr_t i = 0; i < count; i++)
		require(pthread_create(&all[i], NULL, run, (void *)(i + 1)) == 0);
	for (uintptr_t i = 0; i < count; i++) {
		void *result;

		require(pthread_join(all[i], &result) == 0);
		require((uintptr_t)result == 5 + (i + 1) * rounds * additions);
	}
	require(mine == 5);
}
