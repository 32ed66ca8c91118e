/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Memory that processes share, in each of the ways to come by it, with semaphores in it.
 */
#include "facility.h"

#include <fcntl.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>

enum { size = 64 * 4096, processes = 4, increments = 5000, exchanges = 500 };

struct shared {
	atomic_uint counter;
	sem_t there, back;
	unsigned value;
};

static void share(void *memory, const void *same_memory)
{
	struct shared *const shared = memory;
	int children[processes];

	memset(memory, 0, size);
	require(sem_init(&shared->there, 1, 0) == 0 && sem_init(&shared->back, 1, 0) == 0);
	for (unsigned i = 0; i < processes; i++) {
		children[i] = fork();
		if (children[i] == 0) {
			for (unsigned k = 0; k < increments; k++)
				atomic_fetch_add(&shared->counter, 1);
			((uint8_t *)memory)[size - 1 - i] = (uint8_t)(i + 1);
			_exit(0);
		}
	}
	for (unsigned i = 0; i < processes; i++)
		require_child(children[i]);
	require(shared->counter == processes * increments);
	for (unsigned i = 0; i < processes; i++)
		require(((const uint8_t *)same_memory)[size - 1 - i] == i + 1);

	const int child = fork();
	if (child == 0) {
		for (unsigned i = 0; i < exchanges; i++) {
			require(sem_wait(&shared->there) == 0);
			shared->value = shared->value * 2 + 1;
			require(sem_post(&shared->back) == 0);
		}
		_exit(0);
	}
	for (unsigned i = 0; i < exchanges; i++) {
		shared->value = i;
		require(sem_post(&shared->there) == 0 && sem_wait(&shared->back) == 0);
		require(shared->value == 2 * i + 1);
	}
	require_child(child);
}

static void share_file(int file)
{
	require(file >= 0 && ftruncate(file, size) == 0);
	void *const first = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	void *const second = mmap(NULL, size, PROT_READ, MAP_SHARED, file, 0);
	require(first != MAP_FAILED && second != MAP_FAILED && first != second);
	share(first, second);
	require(close(file) == 0);
}

void shared_memory(void)
{
	void *const anonymous = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	require(anonymous != MAP_FAILED);
	share(anonymous, anonymous);

	share_file(shm_open("/facility", O_CREAT | O_EXCL | O_RDWR, 0600));
	require(shm_unlink("/facility") == 0);
	share_file(memfd_create("facility", 0));

	const int segment = shmget(IPC_PRIVATE, size, IPC_CREAT | 0600);
	require(segment >= 0);
	void *const first = shmat(segment, NULL, 0), *const second = shmat(segment, NULL, SHM_RDONLY);
	require(first != (void *)-1 && second != (void *)-1);
	share(first, second);
	require(shmctl(segment, IPC_RMID, NULL) == 0);
}
