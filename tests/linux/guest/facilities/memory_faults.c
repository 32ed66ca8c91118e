/* SPDX-License-Identifier: BSD-2-Clause
 *
 * An access that memory does not allow is a signal with the address and the reason, and is done again behind it.
 */
#include "facility.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>

enum { page = 4096, rounds = 100 };

static sigjmp_buf away;
static volatile int got_signal, got_code;
static void *volatile got_address;
static uint8_t *volatile repaired;

static void leave(int signal, siginfo_t *information, void *context)
{
	(void)context;
	got_signal = signal;
	got_code = information->si_code;
	got_address = information->si_addr;
	siglongjmp(away, 1);
}

static void repair(int signal, siginfo_t *information, void *context)
{
	(void)signal;
	(void)context;
	if (information->si_addr != repaired || mprotect(repaired, page, PROT_READ | PROT_WRITE) != 0)
		_exit(2);
}

static void handle(int signal, void (*handler)(int, siginfo_t *, void *))
{
	const struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };

	require(sigaction(signal, &action, NULL) == 0);
}

enum access { reading, writing, executing };

static void require_fault(uint8_t *address, enum access access, int signal, int code)
{
	got_signal = 0;
	if (sigsetjmp(away, 1) == 0) {
		if (access == reading)
			(void)*(volatile uint8_t *)address;
		else if (access == writing)
			*(volatile uint8_t *)address = 1;
		else
			((void (*)(void))(uintptr_t)address)();
	}
	require(got_signal == signal);
	require(got_code == code);
	require(got_address == address);
}

void memory_faults(void)
{
	enum { ret = 0xc3 };
	uint8_t *const memory = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	require(memory != MAP_FAILED);
	memset(memory, ret, 4 * page);
	require(munmap(memory + 3 * page, page) == 0);
	handle(SIGSEGV, leave);
	handle(SIGBUS, leave);
	for (unsigned i = 0; i < rounds; i++) {
		require(mprotect(memory, page, PROT_READ) == 0);
		require(mprotect(memory + page, page, PROT_NONE) == 0);
		require_fault(memory + 5, writing, SIGSEGV, SEGV_ACCERR);
		require_fault(memory + page + 6, reading, SIGSEGV, SEGV_ACCERR);
		require_fault(memory + 2 * page, executing, SIGSEGV, SEGV_ACCERR);
		require_fault(memory + 3 * page + 7, reading, SIGSEGV, SEGV_MAPERR);
		require_fault(memory + 3 * page + 7, writing, SIGSEGV, SEGV_MAPERR);
		require(mprotect(memory + 2 * page, page, PROT_READ | PROT_EXEC) == 0);
		((void (*)(void))(uintptr_t)(memory + 2 * page))();
		require(mprotect(memory + 2 * page, page, PROT_READ | PROT_WRITE) == 0);
	}
	require_fault(NULL, reading, SIGSEGV, SEGV_MAPERR);

	const int file = open("/tmp/empty", O_CREAT | O_TRUNC | O_RDWR, 0600);
	uint8_t *const beyond = mmap(NULL, page, PROT_READ, MAP_SHARED, file, 0);
	require(file >= 0 && beyond != MAP_FAILED);
	require_fault(beyond + 8, reading, SIGBUS, BUS_ADRERR);
	require(close(file) == 0 && unlink("/tmp/empty") == 0);

	handle(SIGSEGV, repair);
	repaired = memory;
	volatile uint8_t *const bytes = memory;
	for (unsigned i = 0; i < rounds; i++) {
		require(mprotect(memory, page, PROT_NONE) == 0);
		bytes[0] = (uint8_t)i;
		require(bytes[0] == (uint8_t)i && bytes[1] == ret);
	}
}
