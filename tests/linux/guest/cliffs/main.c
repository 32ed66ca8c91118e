/* SPDX-License-Identifier: BSD-2-Clause
 *
 * cliffs DIVISOR: memory in amounts at which a VMM's tables, ranges or processes run short. With 1: 500 processes that
 * share 64 MiB, a fork of 1 GiB in huge pages, 100000 changes of mappings and their rights, no memory left. Each part
 * prints `cliffs: NAME: right`, or how much was wrong; the status is 0 if all were right.
 */
#include "cliffs.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

void write_file(const char *path, const char *text)
{
	const int file = open(path, O_WRONLY);

	require(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text), path);
	close(file);
}

int main(int count, char **words)
{
	require(count == 2, "cliffs DIVISOR");
	const unsigned divisor = (unsigned)strtoul(words[1], NULL, 0);
	const size_t mebibyte = 1 << 20;
	int wrong = 0;

	require(divisor != 0, "DIVISOR");
	setvbuf(stdout, NULL, _IONBF, 0);
	wrong |= report("cliffs", "processes that share 64 MiB", share_among_processes(500 / divisor, 64 * mebibyte));
	wrong |= report("cliffs", "a fork of huge pages", fork_huge_pages(1024 * mebibyte / divisor));
	wrong |= report("cliffs", "mappings that change", change_mappings(100000 / divisor));
	wrong |= report("cliffs", "no memory left", run_out_of_memory(512 * mebibyte / divisor));
	return wrong;
}
