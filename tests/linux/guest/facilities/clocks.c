/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The vDSO is there, and its time is the kernel's: read between two system calls, it lies between them.
 */
#include "facility.h"

#include <elf.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

enum { rounds = 2000, denials = 100 };

static int64_t nanoseconds(const struct timespec *time)
{
	return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

static int64_t by_system_call(clockid_t clock)
{
	struct timespec time;

	require(syscall(SYS_clock_gettime, clock, &time) == 0);
	require(time.tv_nsec >= 0 && time.tv_nsec < 1000000000);
	return nanoseconds(&time);
}

static int64_t by_vdso(clockid_t clock)
{
	struct timespec time;

	require(clock_gettime(clock, &time) == 0);
	require(time.tv_nsec >= 0 && time.tv_nsec < 1000000000);
	return nanoseconds(&time);
}

static void compare(clockid_t clock)
{
	const int64_t begin = by_system_call(clock);

	for (unsigned i = 0; i < rounds; i++) {
		const int64_t before = by_system_call(clock), between = by_vdso(clock), after = by_system_call(clock);

		require(before <= between && between <= after);
		require(by_vdso(clock) >= between);
	}
	while (by_system_call(clock) == begin)
		; /* a coarse one goes on with the next tick */
	require(by_system_call(clock) > begin);
}

static int time_stamp_counter_is_used(void)
{
	const int file = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY);
	char name[3];

	require(file >= 0 && read(file, name, sizeof name) == sizeof name && close(file) == 0);
	return memcmp(name, "tsc", sizeof name) == 0;
}

/* Asking the kernel would be the end. */
static void ask_without_kernel(void)
{
	struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = { .len = sizeof program / sizeof *program, .filter = program };
	const int child = fork();

	if (child == 0) {
		require(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
		require(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
		for (unsigned i = 0; i < rounds; i++)
			(void)by_vdso(CLOCK_MONOTONIC);
		_exit(0);
	}
	require_child(child);
}

static sigjmp_buf away;

static void leave(int signal)
{
	siglongjmp(away, signal);
}

/* A process may be denied the counter, and only that process is. */
static void deny_time_stamp_counter(void)
{
	const int expected = is_lacking("rdtsc_denial") ? 0 : SIGSEGV;
	const int child = fork();

	if (child == 0) {
		require(signal(SIGSEGV, leave) != SIG_ERR);
		require(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0);
		for (unsigned i = 0; i < denials; i++) {
			const int got = sigsetjmp(away, 1);

			if (got == 0)
				__builtin_ia32_rdtsc();
			require(got == expected);
			sched_yield();
		}
		_exit(0);
	}
	for (unsigned i = 0; i < denials; i++) {
		const uint64_t before = __builtin_ia32_rdtsc();

		sched_yield();
		require(__builtin_ia32_rdtsc() > before);
	}
	require_child(child);
}

void clocks(void)
{
	const unsigned char *const vdso = (const unsigned char *)getauxval(AT_SYSINFO_EHDR);
	struct timeval time_of_day;

	require(vdso != NULL && memcmp(vdso, ELFMAG, SELFMAG) == 0);
	compare(CLOCK_MONOTONIC);
	compare(CLOCK_REALTIME);
	compare(CLOCK_BOOTTIME);
	compare(CLOCK_MONOTONIC_COARSE);
	if (time_stamp_counter_is_used())
		ask_without_kernel();
	deny_time_stamp_counter();

	const int64_t before = by_system_call(CLOCK_REALTIME) / 1000;
	require(gettimeofday(&time_of_day, NULL) == 0);
	const int64_t now = (int64_t)time_of_day.tv_sec * 1000000 + time_of_day.tv_usec;
	require(before <= now && now <= by_system_call(CLOCK_REALTIME) / 1000 + 1);
	const time_t seconds = time(NULL);
	require(seconds >= before / 1000000 - 1 && seconds <= by_system_call(CLOCK_REALTIME) / 1000000000);
}
