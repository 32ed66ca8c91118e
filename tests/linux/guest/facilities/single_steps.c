/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A program that steps through itself sees each of its instructions once, a system call and the comparison of its
 * result too: the trap behind SYSCALL comes one instruction later. A VMM may have replaced both when they are made
 * often.
 */
#include "facility.h"

#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <ucontext.h>

enum { rounds = 1000, most_steps = 10 };

extern const char stepped_begin[], stepped_call[], stepped_behind[], stepped_end[];
long stepped(long number);
asm(".pushsection .text\n"
    "stepped:\n"
    "stepped_begin:\n"
    "	mov %rdi, %rax\n"
    "stepped_call:\n"
    "	syscall\n"
    "	cmp $-4096, %rax\n"
    "stepped_behind:\n"
    "	nop\n"
    "stepped_end:\n"
    "	ret\n"
    ".popsection\n");

static volatile unsigned steps;
static volatile uintptr_t addresses[most_steps];

static void note(int signal, siginfo_t *information, void *context)
{
	const ucontext_t *const interrupted = context;
	const uintptr_t address = (uintptr_t)interrupted->uc_mcontext.gregs[REG_RIP];

	(void)signal;
	(void)information;
	if (address < (uintptr_t)stepped_begin || address > (uintptr_t)stepped_end)
		return;
	require(steps < most_steps);
	addresses[steps++] = address;
}

void single_steps(void)
{
	const char *const expected[] = { stepped_begin, stepped_call, stepped_behind, stepped_end };
	struct sigaction action = { .sa_sigaction = note, .sa_flags = SA_SIGINFO };

	require(sigaction(SIGTRAP, &action, NULL) == 0);
	for (int i = 0; i < rounds; i++)
		require(stepped(SYS_getppid) == getppid());
	asm volatile("sub $128, %%rsp\n pushf\n orq $0x100, (%%rsp)\n popf\n add $128, %%rsp" : : : "memory", "cc");
	stepped(SYS_getppid);
	asm volatile("sub $128, %%rsp\n pushf\n andq $~0x100, (%%rsp)\n popf\n add $128, %%rsp" : : : "memory", "cc");
	require(steps == sizeof expected / sizeof *expected);
	for (unsigned i = 0; i < steps; i++)
		require(addresses[i] == (uintptr_t)expected[i]);
}
