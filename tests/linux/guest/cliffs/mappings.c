/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Random changes of mappings, against a model of what is where and may be done with it. Half of the memory is of a file,
 * whose pages are in several places at once.
 */
#include "cliffs.h"

#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { places = 1024, file_pages = 96, most_together = 24 };
enum { nowhere = -1, private_memory = -2 };
enum { tag_at = 8, other_tag_at = page_size - 8, return_instruction = 0xc3 };

/* One page of addresses. */
struct place {
	int of; /* a page of the file, or one of the above */
	int rights;
	uint32_t tag; /* of private memory; 0: it holds zeros */
};
static struct place model[places];
static uint32_t file_tags[file_pages];
static uint8_t *window;
static int file;
static sigjmp_buf after_fault;
static volatile uintptr_t fault_address;

static void on_fault(int signal, siginfo_t *information, void *context)
{
	(void)signal;
	(void)context;
	fault_address = (uintptr_t)information->si_addr;
	siglongjmp(after_fault, 1);
}

static volatile uint32_t *word_at(unsigned place, unsigned offset)
{
	return (volatile uint32_t *)(void *)(window + (size_t)place * page_size + offset);
}

static uint32_t *tag_of(unsigned place)
{
	return model[place].of >= 0 ? &file_tags[model[place].of] : &model[place].tag;
}

/* 1: it faulted, and at this address. */
static int read_faults(unsigned place, unsigned offset, uint32_t *value)
{
	if (sigsetjmp(after_fault, 1) != 0)
		return fault_address == (uintptr_t)word_at(place, offset) ? 1 : 2;
	*value = *word_at(place, offset);
	return 0;
}

static int write_faults(unsigned place, unsigned offset, uint32_t value)
{
	if (sigsetjmp(after_fault, 1) != 0)
		return fault_address == (uintptr_t)word_at(place, offset) ? 1 : 2;
	*word_at(place, offset) = value;
	return 0;
}

static int execution_faults(unsigned place)
{
	void (*code)(void);
	const uint8_t *const at = window + (size_t)place * page_size;

	if (sigsetjmp(after_fault, 1) != 0)
		return fault_address == (uintptr_t)at ? 1 : 2;
	memcpy(&code, &at, sizeof code);
	code();
	return 0;
}

/* On this machine writing and executing include reading. */
static int may(unsigned place, int right)
{
	return model[place].of != nowhere && model[place].rights != PROT_NONE &&
	       (right == PROT_READ || (model[place].rights & right) != 0);
}

static unsigned check_reading(unsigned place)
{
	uint32_t value = 0, other = 0;
	const int faults = read_faults(place, tag_at, &value);

	if (faults != !may(place, PROT_READ))
		return 1;
	if (faults)
		return 0;
	return read_faults(place, other_tag_at, &other) != 0 || value != *tag_of(place) || other != value;
}

static unsigned check_writing(unsigned place)
{
	static uint32_t last_tag;
	const uint32_t tag = ++last_tag;
	const int faults = write_faults(place, tag_at, tag);

	if (faults != !may(place, PROT_WRITE))
		return 1;
	if (faults)
		return 0;
	*tag_of(place) = tag;
	return write_faults(place, other_tag_at, tag) != 0 || write_faults(place, 0, return_instruction) != 0;
}

static unsigned check_executing(unsigned place)
{
	if (may(place, PROT_EXEC) && *tag_of(place) == 0)
		return 0; /* there is no code */
	return execution_faults(place) != !may(place, PROT_EXEC);
}

static unsigned check_all(void)
{
	unsigned wrong = 0;

	for (unsigned place = 0; place < places; place++)
		wrong += check_reading(place);
	return wrong;
}

static int random_rights(void)
{
	static const int rights[] = {PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE, PROT_READ | PROT_WRITE,
				     PROT_READ | PROT_EXEC, PROT_READ | PROT_WRITE | PROT_EXEC};

	return rights[random_below(sizeof rights / sizeof *rights)];
}

static void place_memory(unsigned first, unsigned count)
{
	const int is_file = random_below(2) == 0;
	const unsigned of = random_below(file_pages - most_together);
	const int rights = random_rights();
	const int flags = MAP_FIXED | (is_file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS);
	void *const at = window + (size_t)first * page_size;

	require(mmap(at, (size_t)count * page_size, rights, flags, is_file ? file : -1,
		     is_file ? (off_t)of * page_size : 0) == at,
		"mmap");
	for (unsigned i = 0; i < count; i++)
		model[first + i] =
		    (struct place){.of = is_file ? (int)(of + i) : private_memory, .rights = rights, .tag = 0};
}

static void remove_memory(unsigned first, unsigned count)
{
	require(munmap(window + (size_t)first * page_size, (size_t)count * page_size) == 0, "munmap");
	for (unsigned i = 0; i < count; i++)
		model[first + i].of = nowhere;
}

static unsigned change_rights(unsigned first, unsigned count)
{
	const int rights = random_rights();
	unsigned changed = 0;

	while (changed < count && model[first + changed].of != nowhere)
		model[first + changed++].rights = rights;
	const int result = mprotect(window + (size_t)first * page_size, (size_t)count * page_size, rights);

	return (result == 0) != (changed == count); /* what lies before a hole is changed */
}

static int looks_like_one_mapping(unsigned first, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		const int of = model[first].of;
		const int expected = of >= 0 ? of + (int)i : of;

		if (of == nowhere || model[first + i].of != expected || model[first + i].rights != model[first].rights)
			return 0;
	}
	return 1;
}

/* Fails if it is several mappings; then nothing is at the new place. */
static void move(unsigned from, unsigned to, unsigned count)
{
	if ((from < to + count && to < from + count) || !looks_like_one_mapping(from, count))
		return;
	void *const target = window + (size_t)to * page_size;
	const size_t bytes = (size_t)count * page_size;

	if (mremap(window + (size_t)from * page_size, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, target) == target) {
		memcpy(model + to, model + from, count * sizeof *model);
		for (unsigned i = 0; i < count; i++)
			model[from + i].of = nowhere;
	} else {
		remove_memory(to, count);
	}
}

static void discard(unsigned first, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct place *const place = &model[first + i];

		if (place->of == nowhere)
			continue;
		require(madvise(window + (size_t)(first + i) * page_size, page_size, MADV_DONTNEED) == 0, "madvise");
		if (place->of == private_memory)
			place->tag = 0;
	}
}

/* The child changes its private memory and looks at all. */
static unsigned check_in_child(void)
{
	const pid_t child = fork();

	require(child >= 0, "fork");
	if (child == 0) {
		unsigned wrong = check_all();

		for (unsigned i = 0; i < places; i += 5)
			wrong += model[i].of == private_memory ? check_writing(i) : 0;
		_exit(wrong + check_all() != 0);
	}
	return wait_for(child) + check_all();
}

unsigned change_mappings(unsigned steps)
{
	const struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	unsigned wrong = 0;

	require(sigaction(SIGSEGV, &action, NULL) == 0 && sigaction(SIGBUS, &action, NULL) == 0, "sigaction");
	file = memfd_create("pages", 0);
	require(file >= 0 && ftruncate(file, (off_t)file_pages * page_size) == 0, "memfd_create");
	window = map((size_t)places * page_size, MAP_PRIVATE);
	remove_memory(0, places);
	for (unsigned step = 0; step < steps; step++) {
		const unsigned what = random_below(100);
		const unsigned count = 1 + random_below(random_below(2) ? most_together : 2);
		const unsigned first = random_below(places - count);

		if (what < 8)
			place_memory(first, count);
		else if (what < 10)
			remove_memory(first, count);
		else if (what < 28)
			wrong += change_rights(first, count);
		else if (what < 36)
			move(first, random_below(places - count), count);
		else if (what < 38)
			discard(first, count);
		else if (what < 58)
			wrong += check_writing(first);
		else if (what < 66)
			wrong += check_executing(first);
		else
			wrong += check_reading(first);
		if (step % 1000 == 0)
			wrong += check_in_child();
	}
	wrong += check_all();
	munmap(window, (size_t)places * page_size);
	close(file);
	return wrong;
}
