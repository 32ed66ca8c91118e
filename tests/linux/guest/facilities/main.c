/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Runs every facility. Prints `passed: NAME` or `FAILED: NAME` for each; the status is 0 if all passed.
 */
#include "facility.h"

static const struct part facilities[] = {
	{ "address space", address_space },
	{ "threads", threads },
	{ "floating point", floating_point },
	{ "mappings", mappings },
	{ "memory faults", memory_faults },
	{ "shared memory", shared_memory },
	{ "clocks", clocks },
	{ "timers", timers },
	{ "files", files },
	{ "code as data", code_as_data },
	{ "single steps", single_steps },
	{ "modes", modes },
	{ "watchpoints", watchpoints },
};

int is_lacking(const char *what)
{
	char line[4096] = "", word[64];
	FILE *const file = fopen("/proc/cmdline", "r");

	require(file != NULL && fgets(line, sizeof line, file) != NULL && fclose(file) == 0);
	snprintf(word, sizeof word, "lacks=%s", what);
	return strstr(line, word) != NULL;
}

static void tell(const char *name, const char *why)
{
	if (why == NULL)
		printf("passed: %s\n", name);
	else
		printf("FAILED: %s: %s\n", name, why);
}

int main(void)
{
	return run_parts(facilities, sizeof facilities / sizeof *facilities, tell);
}
