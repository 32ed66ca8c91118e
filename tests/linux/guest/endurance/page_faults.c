/* SPDX-License-Identifier: BSD-2-Clause */
#include "endurance.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { page = 4096, pages = 1000, fresh_rounds = 60, copying_rounds = 20, mapped_rounds = 20 };

static uint64_t faults_of(int who)
{
	struct rusage usage;

	require(getrusage(who, &usage) == 0, "getrusage");
	return (uint64_t)usage.ru_minflt;
}

static uint32_t *map(int flags, int file)
{
	uint32_t *const memory = mmap(NULL, (size_t)pages * page, PROT_READ | PROT_WRITE, flags, file, 0);

	require(memory != MAP_FAILED, "mmap");
	require(madvise(memory, (size_t)pages * page, MADV_NOHUGEPAGE) == 0 || errno == EINVAL, "madvise");
	return memory;
}

static uint32_t *page_of(uint32_t *memory, unsigned number)
{
	return memory + (size_t)number * page / sizeof *memory;
}

static int write_all(uint32_t *memory, uint32_t first)
{
	for (unsigned i = 0; i < pages; i++)
		*page_of(memory, i) = seed + first + i;
	for (unsigned i = 0; i < pages; i++)
		if (*page_of(memory, i) != seed + first + i)
			return 0;
	return 1;
}

/* The child's writes reach copies of the pages. */
static int write_in_child(uint32_t *memory)
{
	int status;
	const pid_t child = fork();

	require(child >= 0, "fork");
	if (child == 0)
		_exit(write_all(memory, 7777) ? 0 : 1);
	if (waitpid(child, &status, 0) != child || status != 0)
		return 0;
	for (unsigned i = 0; i < pages; i++)
		if (*page_of(memory, i) != seed + 100 + i)
			return 0;
	return 1;
}

/* As the kernel counts them, of rounds whose memory held what it should. */
uint64_t fault_pages(void)
{
	const uint64_t before = faults_of(RUSAGE_SELF) + faults_of(RUSAGE_CHILDREN);
	const int file = open("/tmp/endurance-pages", O_CREAT | O_TRUNC | O_RDWR, 0600);
	int right = 1;

	for (uint32_t round = 0; round < share(fresh_rounds); round++) {
		uint32_t *const memory = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);

		right &= *memory == 0 && write_all(memory, round);
		munmap(memory, (size_t)pages * page);
	}
	uint32_t *const memory = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
	right &= write_all(memory, 100);
	for (unsigned round = 0; round < share(copying_rounds); round++)
		right &= write_in_child(memory);
	munmap(memory, (size_t)pages * page);

	require(file >= 0 && ftruncate(file, (off_t)pages * page) == 0, "/tmp/endurance-pages");
	for (uint32_t round = 0; round < share(mapped_rounds); round++) {
		uint32_t *const shared = map(MAP_SHARED, file);

		right &= write_all(shared, round);
		munmap(shared, (size_t)pages * page);
	}
	close(file);
	unlink("/tmp/endurance-pages");
	return right ? faults_of(RUSAGE_SELF) + faults_of(RUSAGE_CHILDREN) - before : 0;
}
