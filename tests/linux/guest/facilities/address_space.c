/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Which addresses programs get. An in-place VMM may have the kernel among them: what the kernel hands out is the
 * program's alone, and what it refuses, it refuses with an error.
 */
#include "facility.h"

#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

enum { page = 4096, most_pages = 4096 };
enum { anonymous = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE };

/* One word in each of many places, all of them held against each other at the end. */
static volatile uint64_t *places[most_pages];
static unsigned place_count;

static void take(uintptr_t address)
{
	require(place_count < most_pages);
	places[place_count] = (volatile uint64_t *)address;
	*places[place_count++] = address * 0x9e3779b97f4a7c15;
}

static void check_places(void)
{
	for (unsigned i = 0; i < place_count; i++)
		require(*places[i] == (uintptr_t)places[i] * 0x9e3779b97f4a7c15);
}

static int are_taken(void *memory, uintptr_t address, size_t bytes)
{
	if (memory == MAP_FAILED) {
		require(errno == ENOMEM || errno == EEXIST || errno == EINVAL || errno == EPERM);
		return 0;
	}
	require((uintptr_t)memory == address);
	for (size_t offset = 0; offset < bytes; offset += 2 * MIB)
		take(address + offset);
	take(address + bytes - page);
	return 1;
}

static void in_child(void (*run)(void))
{
	const int child = fork();

	if (child == 0) {
		run();
		_exit(0);
	}
	require_child(child);
}

/* A heap grows from below 1 GiB: the image of this program lies at a fixed place. */
static void heap(void)
{
	const size_t step = 8 * MIB;
	size_t grown = 0;

	while (grown < 3 * GIB) {
		void *const end = sbrk((intptr_t)step);
		if (end == (void *)-1) {
			require(errno == ENOMEM);
			break;
		}
		take((uintptr_t)end);
		take((uintptr_t)end + step - page);
		grown += step;
	}
	require(grown >= 512 * MIB);
}

static void below_2_gib(void)
{
	const size_t step = 16 * MIB;

	for (unsigned i = 0; i < 128; i++) {
		uint8_t *const memory = mmap(NULL, step, PROT_READ | PROT_WRITE, anonymous | MAP_32BIT, -1, 0);
		if (memory == MAP_FAILED) {
			require(errno == ENOMEM);
			break;
		}
		require((uintptr_t)memory + step <= 2 * GIB);
		take((uintptr_t)memory);
		take((uintptr_t)memory + step - page);
	}
}

static void hints(void)
{
	for (uintptr_t hint = 0x6ff00000; hint < 2 * GIB + 16 * MIB; hint += MIB) {
		uint8_t *const memory = mmap((void *)hint, page, PROT_READ | PROT_WRITE, anonymous, -1, 0);
		require(memory != MAP_FAILED);
		take((uintptr_t)memory);
	}
}

/* In a child of its own: what is mapped there goes. */
static void fixed_places(void)
{
	static const struct {
		uintptr_t address;
		size_t bytes;
		int must_be_free;
	} fixed[] = {
		{ 0x70000000, 254 * MIB, 0 },	   { 0x70000000, page, 0 },
		{ 0x78000000, page, 0 },	   { 0x7ffe0000, page, 0 },
		{ 0x7fff7000, 64 * MIB, 1 },	   { 0x02008fff7000, 64 * MIB, 1 }, /* AddressSanitizer */
		{ 0x600000000000, 64 * MIB, 1 },   { 0x640000000000 - 64 * MIB, 64 * MIB, 1 },
		{ 0x010000000000, 64 * MIB, 1 },   { 0x200000000000, 64 * MIB, 1 }, /* ThreadSanitizer */
		{ 0x300000000000, 64 * MIB, 1 },   { 0x7b0000000000, 64 * MIB, 1 },
		{ 0x7e8000000000, 2 * MIB, 1 },	   { 0x400000000000, 64 * MIB, 1 },
		{ 0x500000000000, 64 * MIB, 1 },   { 0x700000000000, 64 * MIB, 1 }, /* MemorySanitizer */
		{ 0x7f0000000000, page, 0 },	   { 0x7f8000000000, page, 0 },
		{ 0x7ff800000000, page, 0 },	   { 0x7fffff600000, page, 0 },
	};

	for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
		const int flags = anonymous | (fixed[i].must_be_free ? MAP_FIXED_NOREPLACE : MAP_FIXED);
		void *const memory = mmap((void *)fixed[i].address, fixed[i].bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
		const int is_there = are_taken(memory, fixed[i].address, fixed[i].bytes);
		require(is_there || !fixed[i].must_be_free);
	}
	in_child(check_places);
	check_places();
}

static void shadow_memory(void)
{
	const uintptr_t first = 0x7fff7000, end = 0x10007fff8000;

	void *const memory = mmap((void *)first, end - first, PROT_READ | PROT_WRITE, anonymous | MAP_FIXED_NOREPLACE, -1, 0);
	require(memory == (void *)first);
	take(first);
	take(0x80000000);
	take(end - page);
	check_places();
}

/* Other ways to an address. */
static void unmaps_and_moves(void)
{
	uint8_t *const memory = mmap(NULL, 2 * MIB, PROT_READ | PROT_WRITE, anonymous, -1, 0);
	const int segment = shmget(IPC_PRIVATE, 2 * MIB, 0600);

	require(memory != MAP_FAILED && segment >= 0);
	munmap((void *)0x70000000, 256 * MIB);
	munmap((void *)0x6f000000, 512 * MIB);
	mprotect((void *)0x70000000, 256 * MIB, PROT_READ | PROT_WRITE | PROT_EXEC);
	madvise((void *)0x70000000, 256 * MIB, MADV_DONTNEED);
	mlock((void *)0x70000000, page);
	mlockall(MCL_CURRENT);
	munlockall();
	void *const moved = mremap(memory, 2 * MIB, 2 * MIB, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)0x74000000);
	if (moved != MAP_FAILED)
		take((uintptr_t)moved);
	void *const attached = shmat(segment, (void *)0x76000000, SHM_REMAP);
	if (attached != (void *)-1)
		take((uintptr_t)attached);
	require(shmctl(segment, IPC_RMID, NULL) == 0);
	for (unsigned i = 0; i < 300; i++) {
		void *const low = mmap(NULL, MIB, PROT_READ | PROT_WRITE, anonymous | MAP_32BIT, -1, 0);
		if (low == MAP_FAILED)
			break;
		take((uintptr_t)low);
	}
	check_places();
}

/* The kernel's part is no memory of the program's. */
static void little_address_space(void)
{
	const struct rlimit little = { .rlim_cur = 64 * MIB, .rlim_max = 64 * MIB };

	require(setrlimit(RLIMIT_AS, &little) == 0);
	require(mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE, anonymous, -1, 0) != MAP_FAILED);
}

/* A kernel that an in-place VMM runs lies in physical memory at 16 MiB. Its instructions are known by their address. */
static void code_where_the_kernel_is(void)
{
	static const uint8_t load_byte[] = { 0x8a, 0x07, 0xc3 }; /* mov (%rdi), %al; ret */
	uint8_t *const data = mmap(NULL, page, PROT_READ | PROT_WRITE, anonymous, -1, 0);
	unsigned calls = 0;
	uint32_t random = 1;

	require(data != MAP_FAILED);
	for (uintptr_t at = 16 * MIB; at < 28 * MIB; at += MIB) {
		uint8_t *const code = mmap((void *)at, MIB, PROT_READ | PROT_WRITE | PROT_EXEC,
					   anonymous | MAP_FIXED_NOREPLACE, -1, 0);
		if (code == MAP_FAILED) /* this program's heap may be there */
			continue;
		for (unsigned i = 0; i < 3000; i++, calls++) {
			random = random * 1103515245 + 12345;
			uint8_t *const place = code + (random >> 8) % (MIB - sizeof load_byte);
			memcpy(place, load_byte, sizeof load_byte);
			require(madvise(data, page, MADV_DONTNEED) == 0);
			require(((uint8_t (*)(uint8_t *))(uintptr_t)place)(data) == 0);
		}
	}
	require(calls > 20000);
}

static void everything_below_2_gib(void)
{
	heap();
	below_2_gib();
	hints();
	check_places();
}

void address_space(void)
{
	in_child(everything_below_2_gib);
	in_child(code_where_the_kernel_is);
	in_child(fixed_places);
	in_child(shadow_memory);
	in_child(unmaps_and_moves);
	in_child(little_address_space);
}
