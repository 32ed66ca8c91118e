/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Every process keeps its own vector registers and rounding mode, whoever else uses them in between.
 */
#include "facility.h"

#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>

enum { rivals = 4, rounds = 1000, vectors = 16 };

/* Fills XMM0-15, lets the others run, and gives what is in them then. */
static void keep_xmm(const uint8_t (*in)[16], uint8_t (*out)[16])
{
	long number = SYS_sched_yield;

	__asm__ volatile("movdqu 0(%[in]), %%xmm0; movdqu 16(%[in]), %%xmm1\n\t"
			 "movdqu 32(%[in]), %%xmm2; movdqu 48(%[in]), %%xmm3\n\t"
			 "movdqu 64(%[in]), %%xmm4; movdqu 80(%[in]), %%xmm5\n\t"
			 "movdqu 96(%[in]), %%xmm6; movdqu 112(%[in]), %%xmm7\n\t"
			 "movdqu 128(%[in]), %%xmm8; movdqu 144(%[in]), %%xmm9\n\t"
			 "movdqu 160(%[in]), %%xmm10; movdqu 176(%[in]), %%xmm11\n\t"
			 "movdqu 192(%[in]), %%xmm12; movdqu 208(%[in]), %%xmm13\n\t"
			 "movdqu 224(%[in]), %%xmm14; movdqu 240(%[in]), %%xmm15\n\t"
			 "syscall\n\t"
			 "movdqu %%xmm0, 0(%[out]); movdqu %%xmm1, 16(%[out])\n\t"
			 "movdqu %%xmm2, 32(%[out]); movdqu %%xmm3, 48(%[out])\n\t"
			 "movdqu %%xmm4, 64(%[out]); movdqu %%xmm5, 80(%[out])\n\t"
			 "movdqu %%xmm6, 96(%[out]); movdqu %%xmm7, 112(%[out])\n\t"
			 "movdqu %%xmm8, 128(%[out]); movdqu %%xmm9, 144(%[out])\n\t"
			 "movdqu %%xmm10, 160(%[out]); movdqu %%xmm11, 176(%[out])\n\t"
			 "movdqu %%xmm12, 192(%[out]); movdqu %%xmm13, 208(%[out])\n\t"
			 "movdqu %%xmm14, 224(%[out]); movdqu %%xmm15, 240(%[out])\n\t"
			 : "+a"(number)
			 : [in] "r"(in), [out] "r"(out)
			 : "rcx", "r11", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
			   "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
	require(number == 0);
}

/* The same for the whole of YMM7. */
__attribute__((target("avx"))) static void keep_ymm(const uint8_t (*in)[16], uint8_t (*out)[16])
{
	long number = SYS_sched_yield;

	__asm__ volatile("vmovdqu (%[in]), %%ymm7\n\tsyscall\n\tvmovdqu %%ymm7, (%[out])\n\tvzeroupper"
			 : "+a"(number)
			 : [in] "r"(in), [out] "r"(out)
			 : "rcx", "r11", "memory", "xmm7");
	require(number == 0);
}

static void *rival(void *argument)
{
	const unsigned number = (unsigned)(uintptr_t)argument;
	const unsigned rounding = (number % 4) << 13;
	uint8_t in[vectors][16], out[vectors][16];

	_mm_setcsr((_mm_getcsr() & ~0x6000U) | rounding);
	for (unsigned round = 0; round < rounds; round++) {
		memset(in, (int)(16 * number + round % 16), sizeof in);
		memset(out, 0xee, sizeof out);
		keep_xmm(in, out);
		require(memcmp(in, out, sizeof in) == 0);
		if (__builtin_cpu_supports("avx")) {
			memset(out, 0xee, sizeof out);
			keep_ymm(in, out);
			require(memcmp(in, out, 32) == 0);
		}
		require((_mm_getcsr() & 0x6000U) == rounding);
	}
	return NULL;
}

static volatile sig_atomic_t handled;

/* A handler's registers are its own as well. */
static void spoil(int signal)
{
	const uint8_t in[vectors][16] = { { 0xaa } };
	uint8_t out[vectors][16];

	(void)signal;
	keep_xmm(in, out);
	handled++;
}

static double sum(int interrupted)
{
	double all = 0;

	for (int i = 1; i <= rounds; i++) {
		all += 1.0 / i;
		require(!interrupted || raise(SIGUSR1) == 0);
	}
	return all;
}

static void survive_handlers(void)
{
	require(signal(SIGUSR1, spoil) != SIG_ERR);
	const double undisturbed = sum(0), disturbed = sum(1);
	require(memcmp(&undisturbed, &disturbed, sizeof disturbed) == 0);
	require(handled == rounds);
}

void floating_point(void)
{
	pthread_t thread;
	int processes[rivals];

	for (uintptr_t i = 0; i < rivals; i++) {
		processes[i] = fork();
		if (processes[i] == 0) {
			rival((void *)i);
			_exit(0);
		}
	}
	require(pthread_create(&thread, NULL, rival, (void *)(uintptr_t)rivals) == 0);
	rival((void *)(uintptr_t)(rivals + 1));
	require(pthread_join(thread, NULL) == 0);
	for (unsigned i = 0; i < rivals; i++)
		require_child(processes[i]);
	survive_handlers();
}
