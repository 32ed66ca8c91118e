/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 12
 *
 * One SYSCALL made again and again, with a comparison of its result behind it as C libraries have it: a VMM may
 * have replaced both by something quicker. Results, RCX, R11 and all other registers are as ever, at each of
 * many calls; whoever jumps to the comparison finds it; an interrupt sees no address but the program's; what is
 * changed in the page, by the kernel or by a store that a VMM does for it, is what runs from then on; and the same
 * page at a second address works there.
 *
 * Left out: a program that reads its own instructions.
 */
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/paging.h"
#include "harness/registers.h"
#include "harness/system_calls.h"
#include "harness/timer.h"
#include "harness/user.h"
#include "harness/user_ticks.h"

#include <previrt/annotate.h>
#include <string.h>

enum { rounds = 1000, ticks_wanted = 20 };

static const uintptr_t first_place = 0x40400000, second_place = 0x40800000;

/* RDI: rounds, or for user_behind the result to compare. RAX is 0 if all went well. */
extern const char frequent_begin[], frequent_calls[], frequent_behind[], frequent_done[], frequent_end[];
asm(".pushsection .user, \"aw\"\n"
    ".balign 4096\n"
    "frequent_begin:\n"
    "frequent_calls:\n"
    "	mov %rdi, %rbx\n"
    "	.set seed, 1\n"
    "	.irp register, rdx, rsi, rbp, r8, r9, r10, r12, r13, r14, r15\n"
    "	mov $0x1234567 * seed, %\\register\n"
    "	.set seed, seed + 2\n"
    "	.endr\n"
    "1:	mov %rbx, %rdi\n"
    "	mov $39, %eax\n"
    "	stc\n"
    "	syscall\n"
    "2:	cmp $-4096, %rax\n"
    "	ja 3f\n"
    "	bt $0, %r11d\n"
    "	jnc 3f\n"
    "	lea 2b(%rip), %r11\n"
    "	cmp %r11, %rcx\n"
    "	jne 3f\n"
    "	dec %rax\n"
    "	cmp %rbx, %rax\n"
    "	jne 3f\n"
    "	.set seed, 1\n"
    "	.irp register, rdx, rsi, rbp, r8, r9, r10, r12, r13, r14, r15\n"
    "	cmp $0x1234567 * seed, %\\register\n"
    "	.set seed, seed + 2\n"
    "	jne 3f\n"
    "	.endr\n"
    "	dec %rbx\n"
    "	jnz 1b\n"
    "frequent_result: mov $0, %eax\n"
    "	plain int $0x80\n"
    "frequent_done:\n"
    "3:	mov $1, %eax\n"
    "	plain int $0x80\n"
    "frequent_behind: mov %rdi, %rax\n"
    "	stc\n"
    "	sbb %r11d, %r11d\n"
    "	jmp 2b\n"
    "frequent_end:\n"
    ".popsection");
extern const char frequent_result[];

/* Of its own 2 MiB, which the kernel too may only read while it runs. */
static uint8_t* const code = (uint8_t*)0x3000000;

static void let_kernel_write(bool let) {
    const uint64_t flags = page_present | page_large | (let ? page_writable : 0U);
    set_entry(2, page_entry((uintptr_t)code, 2), (uintptr_t)code | flags);
    write_cr3(read_cr3());
}

static void write_byte_of_code(const char* symbol, unsigned offset, uint8_t value) {
    let_kernel_write(true);
    ((volatile uint8_t*)code)[symbol - frequent_begin + offset] = value;
    let_kernel_write(false);
}

static struct exception run_at(uintptr_t place, const char* symbol, uint64_t argument) {
    struct user_start start = start_of(symbol, argument);
    start.rip = place + (uint64_t)(symbol - frequent_begin);
    return run_user_from(&start);
}

static bool ends_well(const struct exception* exception, uintptr_t place) {
    return exception->frame.rax == 0 && exception->frame.rip == place + (uint64_t)(frequent_done - frequent_begin);
}

static void check_rounds(const char* what, uintptr_t place) {
    const struct exception exception = run_at(place, frequent_calls, rounds);
    check(what, ends_well(&exception, place));
}

static void check_interrupted(void) {
    unsigned wrong = 0;
    start_user_ticks(first_place);
    while (user_ticks < ticks_wanted) {
        const struct exception exception = run_at(first_place, frequent_calls, rounds);
        wrong += !ends_well(&exception, first_place);
    }
    stop_user_ticks();
    check_equal("interrupted: rounds that went wrong", wrong, 0);
    check_equal("interrupts that saw another address", user_ticks_elsewhere, 0);
}

static void check_behind(void) {
    struct exception exception = run_at(first_place, frequent_behind, (uint64_t)-4095);
    check_equal("a jump to the comparison, of an error", (uint32_t)exception.frame.rax, 1);
    exception = run_at(first_place, frequent_behind, (uint64_t)-4096);
    check("of another result: on behind it", exception.frame.rax == 1);
}

static void check_changed(void) {
    write_byte_of_code(frequent_result, 1, 7);
    const struct exception exception = run_at(first_place, frequent_calls, rounds);
    check_equal("a changed instruction of the page", (uint32_t)exception.frame.rax, 7);
    write_byte_of_code(frequent_result, 1, 0);
    check_rounds("changed back", first_place);
}

/* By a store that is annotated for a device's registers, which a VMM may do itself. */
static void check_changed_by_annotated_store(void) {
    check_rounds("many calls before an annotated store", first_place);
    let_kernel_write(true);
    previrt_mmio_write8(PREVIRT_DEVICE_ANY, code + (frequent_result - frequent_begin) + 1, 9);
    let_kernel_write(false);
    const struct exception exception = run_at(first_place, frequent_calls, rounds);
    check_equal("an instruction changed by an annotated store", (uint32_t)exception.frame.rax, 9);
}

void guest(void) {
    load_descriptor_tables();
    prepare_user();
    enable_system_calls(increment_entry);
    quiet_timer();

    memcpy(code, frequent_begin, (size_t)(frequent_end - frequent_begin));
    let_kernel_write(false);
    map_page(first_place, (uintptr_t)code, page_present | page_user);
    map_page(second_place, (uintptr_t)code, page_present | page_user);
    check_rounds("many calls", first_place);
    check_rounds("many more", first_place);
    check_behind();
    check_rounds("the same page at a second address", second_place);
    check_rounds("and again at the first", first_place);
    check_interrupted();
    check_changed();
    check_changed_by_annotated_store();
}
