/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What is to come after a time comes, not earlier, and as often as asked for.
 */
#include "facility.h"

#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>

enum { shortest = 20000000, ticks = 10 }; /* nanoseconds */

static volatile sig_atomic_t alarms;

static void count(int signal)
{
	(void)signal;
	alarms++;
}

static int64_t now(void)
{
	struct timespec time;

	require(clock_gettime(CLOCK_MONOTONIC, &time) == 0);
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* A machine that others use as well may be late. */
static void require_between(int64_t nanoseconds, int64_t least)
{
	require(nanoseconds >= least);
	require(nanoseconds < least + (int64_t)10 * 1000000000);
}

void timers(void)
{
	const struct timespec sleep = { .tv_nsec = shortest };
	int64_t begin = now();

	require(nanosleep(&sleep, NULL) == 0);
	require_between(now() - begin, shortest);

	begin = now();
	require(poll(NULL, 0, shortest / 1000000) == 0);
	require_between(now() - begin, shortest);

	const struct itimerspec period = { .it_interval = sleep, .it_value = sleep };
	const int timer = timerfd_create(CLOCK_MONOTONIC, 0);
	uint64_t expired = 0;
	require(timer >= 0);
	begin = now();
	require(timerfd_settime(timer, 0, &period, NULL) == 0);
	while (expired < ticks) {
		uint64_t more;

		require(read(timer, &more, sizeof more) == sizeof more);
		expired += more;
	}
	require_between(now() - begin, (int64_t)shortest * ticks);
	require(close(timer) == 0);

	/* While the process computes: only an interrupt can take the processor from it. */
	const struct itimerval interval = { .it_interval.tv_usec = shortest / 1000, .it_value.tv_usec = shortest / 1000 };
	require(signal(SIGALRM, count) != SIG_ERR);
	begin = now();
	require(setitimer(ITIMER_REAL, &interval, NULL) == 0);
	while (alarms < ticks)
		;
	require_between(now() - begin, (int64_t)shortest * ticks);
	const struct itimerval never = { 0 };
	require(setitimer(ITIMER_REAL, &never, NULL) == 0);
}
