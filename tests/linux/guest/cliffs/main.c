/* SPDX-License-Identifier: BSD-2-Clause
 *
 * cliffs DIVISOR: memory in amounts at which a VMM's tables, ranges or processes run short. With 1: 500 processes that
 * share 64 MiB, a fork of 1 GiB in huge pages, 100000 changes of mappings and their rights, no memory left. Each part
 * prints `cliffs: NAME: right`, or how much was wrong; the status is 0 if all were right.
 */
#include "cliffs.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

void require(int condition, const char *what)
{
	if (!condition) {
		perror(what);
		exit(1);
	}
}

uint8_t *map(size_t bytes, int flags)
{
	uint8_t *const memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	require(memory != MAP_FAILED, "mmap");
	return memory;
}

unsigned wait_for(pid_t child)
{
	int status;

	require(waitpid(child, &status, 0) == child, "waitpid");
	return status != 0;
}

void write_file(const char *path, const char *text)
{
	const int file = open(path, O_WRONLY);

	require(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text), path);
	close(file);
}

uint32_t random_below(uint32_t limit)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)((state >> 32) * limit >> 32);
}

static int report(const char *name, unsigned wrong)
{
	if (wrong == 0)
		printf("cliffs: %s: right\n", name);
	else
		printf("cliffs: %s: WRONG: %u\n", name, wrong);
	return wrong != 0;
}

int main(int count, char **words)
{
	require(count == 2, "cliffs DIVISOR");
	const unsigned divisor = (unsigned)strtoul(words[1], NULL, 0);
	const size_t mebibyte = 1 << 20;
	int wrong = 0;

	require(divisor != 0, "DIVISOR");
	setvbuf(stdout, NULL, _IONBF, 0);
	wrong |= report("processes that share 64 MiB", share_among_processes(500 / divisor, 64 * mebibyte));
	wrong |= report("a fork of huge pages", fork_huge_pages(1024 * mebibyte / divisor));
	wrong |= report("mappings that change", change_mappings(100000 / divisor));
	wrong |= report("no memory left", run_out_of_memory(512 * mebibyte / divisor));
	return wrong;
}
