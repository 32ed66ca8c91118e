/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A program may run 32-bit code, and what it executes there leads to its kernel or is a signal at that instruction:
 * `syscall`, `sysenter`, INT n for every n, and far jumps to selectors of the kernel. The stack pointer, which may be
 * any, does not matter to it.
 */
#include "facility.h"

#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>

enum {
	user_code_32 = 0x23,
	user_code = 0x33,
	instruction = 0x400, /* where it lies in the page, ud2 behind it */
	selectors = 0x100,
	no_such_call = 0xffff,
};

static uint8_t *code;
static sigjmp_buf away;

static volatile struct {
	int signal;
	uint64_t rip, rax, rsp;
	uint16_t cs;
} came;

static void leave(int signal, siginfo_t *information, void *context)
{
	const greg_t *const registers = ((const ucontext_t *)context)->uc_mcontext.gregs;

	(void)information;
	came.signal = signal;
	came.rip = (uint64_t)registers[REG_RIP];
	came.rax = (uint64_t)registers[REG_RAX];
	came.rsp = (uint64_t)registers[REG_RSP];
	came.cs = (uint16_t)registers[REG_CSGSFS];
	siglongjmp(away, 1);
}

static int is_sysenter(const char *bytes)
{
	return bytes[0] == 0x0f && bytes[1] == 0x34;
}

/* Runs an instruction of some bytes by this selector, until a signal comes. */
static void run(const void *bytes, size_t count, uint16_t selector, uint32_t stack)
{
	const struct {
		uint32_t offset;
		uint16_t selector;
	} __attribute__((packed)) target = { (uint32_t)(uintptr_t)code + instruction, selector };

	memcpy(code + instruction, bytes, count);
	memcpy(code + instruction + count, "\x0f\x0b", 2);
	came.signal = 0;
	if (sigsetjmp(away, 1) == 0)
		asm volatile("mov %[stack], %%rsp\n ljmpl *(%[target])"
			     :
			     : [stack] "r"((uint64_t)stack), [target] "r"(&target), "a"(no_such_call), "d"(0), "c"(0), "b"(0), "S"(0), "D"(0)
			     : "memory");
	require(came.rsp == stack || (is_sysenter(bytes) && is_lacking("place_of_sysenter")));
	require(came.cs == selector);
}

static int is_at(int signal, size_t offset)
{
	return came.signal == signal && came.rip == (uintptr_t)code + instruction + offset;
}

/* The kernel has said that there is no such call, and where the host forgets the place the program went on at 2. */
static int is_after_return_to_nowhere(void)
{
	return came.signal == SIGSEGV && came.rip == 2;
}

/* The kernel has said that there is no such call, and the program went on. */
static int is_refused_call(void)
{
	return is_at(SIGILL, 2) && (int32_t)came.rax == -ENOSYS;
}

/*
 * A kernel that has 32-bit programs (IA32_EMULATION) comes back from these two at a place in the 32-bit vDSO, which
 * this program has not.
 */
static int lost_a_place;

static void system_calls(uint32_t stack)
{
	run("\xcd\x80", 2, user_code_32, stack);
	if (is_refused_call())
		return;
	run("\x0f\x05", 2, user_code_32, stack);
	if (is_lacking("place_of_32_bit_call") && is_after_return_to_nowhere())
		lost_a_place = 1;
	else
		require(is_refused_call() || is_at(SIGILL, 0));
	run("\x0f\x34", 2, user_code_32, stack);
	require(is_at(SIGILL, 0) || is_at(SIGSEGV, 0) ||
		(is_lacking("place_of_sysenter") && (came.signal == SIGILL ? came.rip == 0 : came.signal == SIGSEGV)));
}

/* KVM's software processor takes some for itself. QEMU's TCG tells Xen of twice the vector, and 4 is open to programs. */
static int may_differ(unsigned n)
{
	return ((n >= 0x17 && n <= 0x1a) && is_lacking("kvm_vectors")) || ((n == 2 || n == 0x82) && is_lacking("xen_vectors"));
}

static void interrupts(uint16_t selector, uint32_t stack)
{
	int differed = 0;

	for (unsigned n = 0; n < 256; n++) {
		const uint8_t bytes[] = { 0xcd, (uint8_t)n };

		run(bytes, sizeof bytes, selector, stack);
		if (may_differ(n))
			differed |= !is_at(SIGSEGV, 0);
		else if (n == 3)
			require(is_at(SIGTRAP, 2));
		else if (n == 4)
			require(is_at(SIGSEGV, 2) || is_at(SIGSEGV, 0));
		else
			require(is_at(SIGSEGV, 0) || (n == 0x80 && is_refused_call()));
	}
	require(differed == (is_lacking("kvm_vectors") || is_lacking("xen_vectors")));
}

/* Of the kernel's, of nobody's, and of tables beyond. */
static void far_jumps(uint32_t stack)
{
	for (unsigned selector = 0; selector < selectors; selector++) {
		uint8_t bytes[] = { 0xea, 0, 0, 0, 0, (uint8_t)selector, 0 };
		const uint32_t there = (uint32_t)(uintptr_t)code + instruction + sizeof bytes;

		memcpy(bytes + 1, &there, sizeof there);
		if ((selector | 3) == user_code_32 || (selector | 3) == user_code)
			continue;
		run(bytes, sizeof bytes, user_code_32, stack);
		require(is_at(SIGSEGV, 0) || is_at(SIGILL, 0));
	}
}

void modes(void)
{
	static uint8_t stack_of_signals[1 << 16];
	static const uint32_t stacks[] = { 0, 0x70001000, 0x7fffff00, 0xffe37100, 0xfffffff0 };
	const stack_t stack = { .ss_sp = stack_of_signals, .ss_size = sizeof stack_of_signals };
	const struct sigaction action = { .sa_sigaction = leave, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	const int signals[] = { SIGILL, SIGSEGV, SIGTRAP, SIGBUS, SIGFPE };

	require(sigaltstack(&stack, NULL) == 0);
	for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++)
		require(sigaction(signals[i], &action, NULL) == 0);
	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	require(code != MAP_FAILED);
	for (unsigned i = 0; i < sizeof stacks / sizeof *stacks; i++)
		system_calls(stacks[i]);
	system_calls((uint32_t)(uintptr_t)code + 256);
	require(lost_a_place == is_lacking("place_of_32_bit_call"));
	interrupts(user_code_32, 0);
	interrupts(user_code, 0x70001000);
	far_jumps(0x70001000);
}
