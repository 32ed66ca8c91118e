/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a debugger asks of the debug registers: a child is stopped behind a store to a variable and behind a load from
 * it, and at an instruction, and is told of nothing else. Its system calls go on meanwhile, and other processes are not
 * stopped.
 */
#include "facility.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

enum { on_execution = 0, on_write = 1, on_access = 3, four_bytes = 3, one_byte = 0 };

static volatile uint32_t watched, other;
static volatile uint32_t copies[4];

static __attribute__((noinline)) void called(void)
{
	asm volatile("" : : : "memory");
}

static void in_child(void)
{
	require(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
	raise(SIGSTOP);
	for (unsigned i = 0; i < 3; i++) {
		other = i;
		require(syscall(SYS_getppid) == getppid());
		watched = i + 1; /* the first: watched for */
		other = watched; /* the second */
		called();	 /* the third */
		memcpy((void *)copies, (const void *)&watched, sizeof watched);
	}
	_exit(7);
}

static void set_register(int child, unsigned number, uintptr_t value)
{
	require(ptrace(PTRACE_POKEUSER, child, offsetof(struct user, u_debugreg[0]) + number * sizeof value, value) == 0);
}

static uintptr_t get_register(int child, unsigned number)
{
	errno = 0;
	const long value = ptrace(PTRACE_PEEKUSER, child, offsetof(struct user, u_debugreg[0]) + number * sizeof(long), NULL);

	require(errno == 0);
	return (uintptr_t)value;
}

/* Register 0 alone. */
static void watch(int child, uintptr_t address, unsigned condition, unsigned length)
{
	set_register(child, 7, 0);
	set_register(child, 0, address);
	set_register(child, 7, 1 | condition << 16 | length << 18);
}

static void go_on_to_hit(int child)
{
	siginfo_t information;
	int status;

	set_register(child, 6, 0);
	require(ptrace(PTRACE_CONT, child, NULL, 0) == 0);
	require(waitpid(child, &status, 0) == child);
	require(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	require(ptrace(PTRACE_GETSIGINFO, child, NULL, &information) == 0);
	require(information.si_code == TRAP_HWBKPT);
	require((get_register(child, 6) & 0xf) == 1);
}

static uint32_t value_of(int child, volatile const uint32_t *variable)
{
	errno = 0;
	const long word = ptrace(PTRACE_PEEKDATA, child, variable, NULL);

	require(errno == 0);
	return (uint32_t)word;
}

void watchpoints(void)
{
	struct user_regs_struct registers;
	int status;

	fflush(stdout);
	const int child = fork();
	if (child == 0)
		in_child();
	require(child > 0 && waitpid(child, &status, 0) == child && WIFSTOPPED(status));

	watch(child, (uintptr_t)&watched, on_write, four_bytes);
	go_on_to_hit(child);
	require(value_of(child, &watched) == 1);

	watch(child, (uintptr_t)&watched, on_access, four_bytes);
	go_on_to_hit(child); /* the load */
	require(value_of(child, &watched) == 1);

	watch(child, (uintptr_t)called, on_execution, one_byte);
	go_on_to_hit(child);
	require(ptrace(PTRACE_GETREGS, child, NULL, &registers) == 0 && registers.rip == (uintptr_t)called);
	require(value_of(child, &other) == 1);
	go_on_to_hit(child);
	require(value_of(child, &other) == 2);

	watched = 99; /* ours, and not watched */
	require(watched == 99);
	watch(child, (uintptr_t)&watched, on_write, four_bytes);
	go_on_to_hit(child);
	require(value_of(child, &watched) == 3);
	set_register(child, 7, 0);
	require(ptrace(PTRACE_CONT, child, NULL, 0) == 0);
	require(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
}
