/* SPDX-License-Identifier: BSD-2-Clause
 *
 * programs_of_32_bits OTHER: threads with data of their own, and with segments of their own, system calls by each of the
 * instructions that a program of 32 bits has for them, signals, and programs of 32 and 64 bits that start each other.
 * Prints `SIZE: PART: right`, or what was wrong. With `chain NUMBER OTHER` it starts OTHER likewise, with one less.
 */
#include "part.h"

#include <stdlib.h>

const char *this_program, *other_program;

#define SIZE (sizeof(void *) == 4 ? "32 bits" : "64 bits")

static void tell(const char *name, const char *why)
{
	printf("%s: %s: %s%s\n", SIZE, name, why ? "WRONG: " : "right", why ? why : "");
	fflush(stdout);
}

/* A digit of the status for each program of the chain. */
static int chain(unsigned long number, const char *other)
{
	static __thread unsigned long mine = 7;
	char less[24];

	if (number == 0)
		return mine == 7 ? 42 : 1;
	snprintf(less, sizeof less, "%lu", number - 1);
	execl(other, other, "chain", less, this_program, (char *)NULL);
	return 1;
}

int main(int count, char **arguments)
{
	static const struct part parts[] = {
		{ "threads", threads },
		{ "programs", programs },
#ifdef __i386__
		{ "calls", calls },
		{ "segments", segments },
		{ "signals", signals },
#endif
	};

	this_program = arguments[0];
	if (count == 4 && strcmp(arguments[1], "chain") == 0)
		return chain(strtoul(arguments[2], NULL, 10), arguments[3]);
	if (count != 2) {
		fprintf(stderr, "usage: programs_of_32_bits OTHER\n");
		return 2;
	}
	other_program = arguments[1];
	return run_parts(parts, sizeof parts / sizeof *parts, tell);
}
