/* SPDX-License-Identifier: BSD-2-Clause
 *
 * endurance [DIVISOR [SEED]]: the DIVISORth part of all work (of all but running out of memory), with SEED in memory.
 * Prints `endurance: NAME DONE of WANTED in S s` for each part; the status is 0 if nothing was lost.
 */
#include "endurance.h"

#include <inttypes.h>
#include <time.h>

unsigned divisor = 1;
uint32_t seed;

/* Divides what the parts repeat. */
enum { most_divided = 20 };

static const struct part {
	const char *name;
	unsigned wanted;
	uint64_t (*run)(void);
} parts[] = {
	{ "fork and exec", 2000, run_programs },
	{ "system calls", 1000000, system_calls },
	{ "page faults", 100000, fault_pages },
	{ "signals", 10000, send_signals },
	{ "messages between processes", 8000, pass_messages },
	{ "turns of threads", 20000, hand_over_between_threads },
};
static const struct part out_of_memory = { "children killed for lack of memory", 2, run_out_of_memory };

static double seconds(void)
{
	struct timespec now;

	require(clock_gettime(CLOCK_MONOTONIC, &now) == 0, "clock_gettime");
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int is_lost(const struct part *part, uint64_t wanted)
{
	const double begin = seconds();
	const uint64_t done = part->run();

	printf("endurance: %s: %" PRIu64 " of %" PRIu64 " in %.1f s\n", part->name, done, wanted, seconds() - begin);
	return done < wanted;
}

int main(int argc, char **argv)
{
	int lost = 0;

	if (argc > 1 && strcmp(argv[1], CHILD_ARGUMENT) == 0)
		return argc == 3 ? atoi(argv[2]) : 255;
	if (argc > 1)
		divisor = (unsigned)strtoul(argv[1], NULL, 10);
	if (argc > 2)
		seed = (uint32_t)strtoul(argv[2], NULL, 10);
	if (divisor == 0 || most_divided % divisor != 0) {
		fprintf(stderr, "endurance: %u does not divide %u\n", divisor, most_divided);
		return 2;
	}
	setvbuf(stdout, NULL, _IONBF, 0);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		lost |= is_lost(&parts[i], share(parts[i].wanted));
	lost |= is_lost(&out_of_memory, out_of_memory.wanted);
	return lost;
}
