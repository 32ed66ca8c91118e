/* SPDX-License-Identifier: BSD-2-Clause */
#include "endurance.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { page = 4096, to_self = 5000, exchanges = 1500, faults = 2000 };

static volatile uint64_t handled;
static volatile sig_atomic_t last_value = -1;
static volatile uint32_t *forbidden;

static void count(int signal, siginfo_t *information, void *context)
{
	(void)signal;
	(void)context;
	if (information->si_value.sival_int == last_value + 1)
		handled++;
	last_value = information->si_value.sival_int;
}

static void allow(int signal, siginfo_t *information, void *context)
{
	(void)signal;
	(void)context;
	if (information->si_addr != (const void *)forbidden ||
	    mprotect((void *)(uintptr_t)forbidden, page, PROT_READ | PROT_WRITE) != 0)
		_exit(3);
	handled++;
}

static void handle(int signal, void (*handler)(int, siginfo_t *, void *), int on_own_stack)
{
	const struct sigaction action = { .sa_sigaction = handler,
					  .sa_flags = SA_SIGINFO | (on_own_stack ? SA_ONSTACK : 0) };

	require(sigaction(signal, &action, NULL) == 0, "sigaction");
}

static void queue(pid_t process, int signal, int value)
{
	require(sigqueue(process, signal, (union sigval){ .sival_int = value }) == 0, "sigqueue");
}

/* Answers every number with the same; ends without an answer after the last. */
static void answer(const sigset_t *set)
{
	for (int i = 0; i < (int)share(exchanges); i++) {
		siginfo_t information;

		if (sigwaitinfo(set, &information) < 0 || information.si_value.sival_int != i)
			_exit(1);
		queue(information.si_pid, SIGRTMIN + 1, i);
	}
	_exit(0);
}

/* Two signals each. */
static uint64_t exchange(void)
{
	sigset_t set;
	uint64_t answers = 0;
	int status;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigaddset(&set, SIGRTMIN + 1);
	require(sigprocmask(SIG_BLOCK, &set, NULL) == 0, "sigprocmask");
	const pid_t other = fork();
	require(other >= 0, "fork");
	if (other == 0)
		answer(&set);
	for (int i = 0; i < (int)share(exchanges); i++) {
		siginfo_t information;

		queue(other, SIGRTMIN, i);
		answers += sigwaitinfo(&set, &information) == SIGRTMIN + 1 && information.si_value.sival_int == i;
	}
	require(waitpid(other, &status, 0) == other && status == 0, "the other process");
	return 2 * answers;
}

uint64_t send_signals(void)
{
	static uint8_t stack[64 * 1024];
	const stack_t own_stack = { .ss_sp = stack, .ss_size = sizeof stack };

	require(sigaltstack(&own_stack, NULL) == 0, "sigaltstack");
	handle(SIGUSR1, count, 1);
	for (int i = 0; i < (int)share(to_self); i++)
		queue(getpid(), SIGUSR1, i);
	const uint64_t exchanged = exchange();
	handle(SIGSEGV, allow, 1);
	forbidden = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	require(forbidden != MAP_FAILED, "mmap");
	for (unsigned i = 0; i < share(faults); i++) {
		*forbidden = i;
		require(*forbidden == i, "memory behind a signal");
		require(mprotect((void *)(uintptr_t)forbidden, page, PROT_NONE) == 0, "mprotect");
	}
	return handled + exchanged;
}
