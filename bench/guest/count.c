/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a kernel's operations cost, in ticks of the time stamp counter: under QEMU's -icount 1 tick is 1 instruction.
 * Prints `kernel WHICH`, then `operation NAME TICKS` for one of each.
 * With again=NAME in the environment that operation runs many times more at the end, untimed, and `again NAME TIMES` is
 * printed; with again=none none does. What is counted over a whole run is then known of one operation, by difference.
 */
#include "operations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { longer = 10 /* times as often again */ };

enum { most_operations = 64 };
static double costs[most_operations];

/* Prints nothing: a machine may write its console's text late, during the next operation. */
static double measure(const struct operation *operation)
{
	operation->prepare();
	repeat(operation, operation->times / 10);
	const uint64_t begin = ticks();
	repeat(operation, operation->times);
	const uint64_t end = ticks();
	operation->finish();
	return (double)(end - begin) / operation->times;
}

/* Every run prepares and finishes the operation, so that the difference is the operation alone. */
static void run_again(const char *name)
{
	int found = name == NULL || strcmp(name, "none") == 0;

	for (size_t i = 0; i < operation_count; i++) {
		const struct operation *operation = &operations[i];
		const int wanted = name != NULL && strcmp(name, operation->name) == 0;

		operation->prepare();
		repeat(operation, wanted ? longer * operation->times : 0);
		operation->finish();
		if (wanted)
			printf("again %s %u\n", name, longer * operation->times);
		found |= wanted;
	}
	if (!found) {
		fprintf(stderr, "again: no operation is called %s\n", name);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "exit") == 0)
		return 0;
	setvbuf(stdout, NULL, _IONBF, 0);
	begin_operations(argv[0]);
	require(operation_count <= most_operations, "operations");
	for (size_t i = 0; i < operation_count; i++)
		costs[i] = measure(&operations[i]);
	print_kernel();
	for (size_t i = 0; i < operation_count; i++)
		printf("operation %s %.1f\n", operations[i].name, costs[i]);
	run_again(getenv("again"));
	end_operations();
	return 0;
}
