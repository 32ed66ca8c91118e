/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A system call by `int $0x80` and by the vDSO, which has the processor's quickest instruction, keeps all registers but
 * EAX, takes six arguments, and works on a stack that nobody has used before.
 */
#include "part.h"

#include <sys/auxv.h>
#include <sys/mman.h>

enum { number_getpid = 20, number_mmap2 = 192, no_number = 0x7ff, repetitions = 1000, page = 4096 };
enum { carry_and_direction = 0x401, always_one = 2, interrupt_flag = 0x200, other_flags = 0x4d5 };

extern struct registers {
	uint32_t eax, ebx, ecx, edx, esi, edi, ebp, flags;
} called;
extern uint32_t call_entry, call_stack, call_stack_behind;
void call(void);
extern const char interrupt_entry[];
asm(".pushsection .data\n"
    ".balign 4\n"
    "called: .long 0, 0, 0, 0, 0, 0, 0, 0\n"
    "call_entry: .long 0\n"
    "call_stack: .long 0\n"
    "call_stack_behind: .long 0\n"
    "own_stack: .long 0\n"
    ".popsection\n"
    ".pushsection .text\n"
    "interrupt_entry: int $0x80\n"
    "	ret\n"
    "call: pushal\n"
    "	pushf\n"
    "	mov %esp, own_stack\n"
    "	mov call_stack, %esp\n"
    "	pushl called + 28\n"
    "	popf\n"
    "	mov called, %eax\n"
    "	mov called + 4, %ebx\n"
    "	mov called + 8, %ecx\n"
    "	mov called + 12, %edx\n"
    "	mov called + 16, %esi\n"
    "	mov called + 20, %edi\n"
    "	mov called + 24, %ebp\n"
    "	call *call_entry\n"
    "	mov %esp, call_stack_behind\n"
    "	pushf\n"
    "	popl called + 28\n"
    "	mov %eax, called\n"
    "	mov %ebx, called + 4\n"
    "	mov %ecx, called + 8\n"
    "	mov %edx, called + 12\n"
    "	mov %esi, called + 16\n"
    "	mov %edi, called + 20\n"
    "	mov %ebp, called + 24\n"
    "	mov own_stack, %esp\n"
    "	popf\n"
    "	popal\n"
    "	ret\n"
    ".popsection");

static uint32_t call_with(uint32_t entry, uint32_t stack, struct registers registers)
{
	const struct registers before = registers;

	called = registers;
	called.flags |= always_one | interrupt_flag;
	call_entry = entry;
	call_stack = stack;
	call();
	require(called.ebx == before.ebx && called.ecx == before.ecx && called.edx == before.edx);
	require(called.esi == before.esi && called.edi == before.edi && called.ebp == before.ebp);
	require((called.flags & other_flags) == before.flags && call_stack_behind == stack);
	return called.eax;
}

static void *fresh(size_t bytes)
{
	void *const memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	require(memory != MAP_FAILED);
	return memory;
}

static void check(uint32_t entry)
{
	const struct registers getpid_ = { number_getpid, 0x11111111, 0x22222222, 0x33333333, 0x44444444, 0x55555555, 0x66666666,
					   carry_and_direction };
	struct registers none = getpid_;
	const uint32_t stack = (uint32_t)(uintptr_t)fresh(page) + page;
	const int file = memfd_create("words", 0);
	const uint32_t word = 0x12345678;

	none.eax = no_number;
	none.flags = 0;
	for (unsigned i = 0; i < repetitions; i++)
		require(call_with(entry, stack, getpid_) == (uint32_t)getpid());
	require(call_with(entry, stack, none) == (uint32_t)-ENOSYS);
	/* The sixth argument, in EBP, counts pages: the second page of the file has the word. */
	require(ftruncate(file, 2 * page) == 0 && pwrite(file, &word, sizeof word, page) == sizeof word);
	const uint32_t mapped = call_with(entry, stack, (struct registers){
		number_mmap2, 0, page, PROT_READ, MAP_PRIVATE, (uint32_t)file, 1, 0 });
	require(*(const uint32_t *)(uintptr_t)mapped == word);
	/* Each stack is new, and the call's own memory is the first of it that is used. */
	for (unsigned i = 0; i < 64; i++)
		require(call_with(entry, (uint32_t)(uintptr_t)fresh(page) + page, getpid_) == (uint32_t)getpid());
}

void calls(void)
{
	check((uint32_t)(uintptr_t)interrupt_entry);
	check((uint32_t)getauxval(AT_SYSINFO));
}
