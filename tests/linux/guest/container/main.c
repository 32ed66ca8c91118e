/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Runs every feature. Prints `container: NAME: right` for each that is; the status is 0 if all are.
 */
#include "feature.h"

static const struct part features[] = {
	{ "BPF programs", bpf_programs },
	{ "system call filters", system_call_filters },
	{ "Landlock", landlock_rules },
	{ "memory of processes", memory_of_processes },
	{ "page monitor", page_monitor },
	{ "userfaultfd", user_page_faults },
	{ "file handles", file_handles },
	{ "fanotify", file_events },
	{ "extended attributes", extended_attributes },
	{ "early entropy", early_entropy },
	{ "task statistics", task_statistics },
};

static void tell(const char *name, const char *why)
{
	if (why == NULL)
		printf("container: %s: right\n", name);
	else
		printf("container: %s: WRONG: %s\n", name, why);
}

int main(void)
{
	return run_parts(features, sizeof features / sizeof *features, tell);
}
