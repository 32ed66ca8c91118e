/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A handler has the thread's own data, and the interrupted program goes on with its registers: general ones, those of
 * the FPU and of SSE, and segments. The signals come from the program's own instructions and at any time.
 */
#include "part.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <ucontext.h>

enum { wanted_ticks = 40, rounds = 100000 };

static __thread volatile unsigned mine = 11;
static volatile unsigned ticks, faults;
static uint32_t words[8] = { 9, 8, 7, 6, 5, 4, 3, 2 };

static void tick(int signal)
{
	(void)signal;
	require(mine == 11);
	ticks++;
}

/* ud2 has two bytes. */
static void skip(int signal, siginfo_t *information, void *context)
{
	greg_t *const registers = ((ucontext_t *)context)->uc_mcontext.gregs;

	require(mine == 11 && signal == SIGILL);
	require((uintptr_t)information->si_addr == (uintptr_t)registers[REG_EIP]);
	registers[REG_EIP] += 2;
	registers[REG_EAX] = 0x77;
	faults++;
}

void signals(void)
{
	const struct sigaction on_tick = { .sa_handler = tick, .sa_flags = SA_RESTART };
	const struct sigaction on_fault = { .sa_sigaction = skip, .sa_flags = SA_SIGINFO };
	const struct itimerval each = { { 0, 1000 }, { 0, 1000 } };
	struct descriptor descriptor = { .index = -1 };
	const uint32_t selector = set_segment(&descriptor, words);
	volatile double sum = 0;
	uint32_t value;

	require(sigaction(SIGALRM, &on_tick, NULL) == 0 && sigaction(SIGILL, &on_fault, NULL) == 0);
	for (unsigned i = 0; i < 100; i++) {
		asm volatile("mov $1, %%eax\n ud2" : "=a"(value) : : "memory");
		require(value == 0x77 && faults == i + 1);
	}
	asm volatile("mov %0, %%fs" : : "r"(selector));
	alarm(0);
	require(setitimer(ITIMER_REAL, &each, NULL) == 0);
	while (ticks < wanted_ticks) {
		uint32_t wrong = 0, counter = rounds;

		asm volatile("movd %%ecx, %%xmm5\n"
			     "1:	mov %%fs:8, %%eax\n"
			     "	xor $7, %%eax\n"
			     "	or %%eax, %[wrong]\n"
			     "	movd %%xmm5, %%eax\n"
			     "	sub $100000, %%eax\n"
			     "	or %%eax, %[wrong]\n"
			     "	dec %%ecx\n"
			     "	jnz 1b"
			     : [wrong] "+r"(wrong), "+c"(counter)
			     :
			     : "eax", "xmm5", "memory");
		require(wrong == 0);
		sum += 0.5;
		getppid();
	}
	require(sum >= 0.5);
}
