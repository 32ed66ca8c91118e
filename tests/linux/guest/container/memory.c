/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Memory that another process, or a program in the kernel's place, looks at and fills.
 */
#include "feature.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

enum { page = 4096, pages = 64 };

static unsigned char *map_pages(void)
{
	unsigned char *const memory = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	require(memory != MAP_FAILED);
	return memory;
}

void memory_of_processes(void)
{
	static char here[] = "of the first", there[] = "not changed..";
	struct iovec local = { here, sizeof here }, remote = { there, sizeof here };
	int told[2], asked[2];
	char byte;

	require(pipe(told) == 0 && pipe(asked) == 0);
	const int child = fork();
	if (child == 0) {
		close(asked[1]);
		require(write(told[1], "", 1) == 1 && read(asked[0], &byte, 1) == 1);
		_exit(strcmp(there, here) != 0);
	}
	require(read(told[0], &byte, 1) == 1);
	require(process_vm_writev(child, &local, 1, &remote, 1, 0) == sizeof here);
	char back[sizeof here] = "";
	local.iov_base = back;
	require(process_vm_readv(child, &local, 1, &remote, 1, 0) == sizeof here && strcmp(back, here) == 0);
	require(strcmp(there, "not changed..") == 0);
	require(syscall(SYS_kcmp, getpid(), child, KCMP_FILE, told[0], told[0]) == 0);
	require(syscall(SYS_kcmp, getpid(), child, KCMP_VM, 0, 0) > 0);
	require(write(asked[1], "", 1) == 1);
	require_child(child);
}

/* Which pages are in memory, and which were written since the last look. */
void page_monitor(void)
{
	const uint64_t soft_dirty = 1ULL << 55, present = 1ULL << 63;
	unsigned char *const memory = map_pages();
	const int map = open("/proc/self/pagemap", O_RDONLY), forget = open("/proc/self/clear_refs", O_WRONLY);
	uint64_t entries[pages];

	require(map >= 0 && forget >= 0);
	require(madvise(memory, pages * page, MADV_NOHUGEPAGE) == 0);
	for (unsigned i = 0; i < pages; i += 2)
		memory[i * page] = 1;
	require(write(forget, "4", 1) == 1);
	for (unsigned i = 0; i < pages; i += 4)
		memory[i * page] = 2;
	require(pread(map, entries, sizeof entries, (off_t)((uintptr_t)memory / page * sizeof *entries)) == sizeof entries);
	for (unsigned i = 0; i < pages; i++) {
		require(((entries[i] & present) != 0) == (i % 2 == 0));
		/* A page that is not there yet counts as written. */
		require(i % 2 != 0 || ((entries[i] & soft_dirty) != 0) == (i % 4 == 0));
	}
}

static int faults = -1;

/* Fills each page that is touched with its number. */
static void *serve(void *start)
{
	static unsigned char content[page] __attribute__((aligned(page)));
	struct uffd_msg message;

	while (read(faults, &message, sizeof message) == sizeof message) {
		const uint64_t address = message.arg.pagefault.address & ~(uint64_t)(page - 1);

		require(message.event == UFFD_EVENT_PAGEFAULT);
		memset(content, (int)((address - (uintptr_t)start) / page + 1), sizeof content);
		struct uffdio_copy copy = { .dst = address, .src = (uintptr_t)content, .len = page };
		require(ioctl(faults, UFFDIO_COPY, &copy) == 0 && copy.copy == page);
	}
	return NULL;
}

void user_page_faults(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	unsigned char *const memory = map_pages();
	pthread_t server;

	faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	require(faults >= 0 && ioctl(faults, UFFDIO_API, &api) == 0);
	struct uffdio_register area = { .range = { (uintptr_t)memory, pages * page }, .mode = UFFDIO_REGISTER_MODE_MISSING };
	require(ioctl(faults, UFFDIO_REGISTER, &area) == 0);
	require(pthread_create(&server, NULL, serve, memory) == 0);
	for (unsigned i = 0; i < pages; i++)
		require(memory[(pages - 1 - i) * page + i] == pages - i);
	/* The kernel's own accesses fault too. */
	unsigned char *const other = map_pages();
	area.range.start = (uintptr_t)other;
	require(ioctl(faults, UFFDIO_REGISTER, &area) == 0);
	int ends[2];
	require(pipe(ends) == 0 && write(ends[1], other, 1) == 1 && read(ends[0], memory, 1) == 1);
	require(memory[0] == (unsigned char)(((uintptr_t)other - (uintptr_t)memory) / page + 1));
}
