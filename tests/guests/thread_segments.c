/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 31
 *
 * Descriptors 12 to 14 of the GDT, which Linux has for the segments of a thread: data for user mode, each
 * with a base of its own. A register keeps the segment that it was loaded with when the kernel writes another
 * descriptor in its place, and the next load of 32-bit code finds the new one, also if the kernel itself has
 * loaded nothing meanwhile.
 */
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/registers.h"
#include "harness/user.h"

enum {
    first = spare_descriptors | 3,
    second = first + 8,
    third = first + 16,
    data_of_user_mode = 0xf3,
    absent_data_of_user_mode = 0x73,
    of_32_bits = 0x4,
    in_pages = 0xc,
};

extern char user_words[], user_other_words[];
extern const char user_load[], user_load_done[], user_read[], user_read_done[], user_rights[],
    user_rights_done[];
extern const char user_load_32[], user_load_32_done[], user_read_32[], user_read_32_done[], user_all_32[],
    user_all_32_done[], user_write_32[], user_write_32_done[], user_bad_32[];
asm(".pushsection .user, \"aw\"\n"
    "user_load: plain mov %edi, %fs\n"
    "	mov %fs:4, %eax\n"
    "	plain int $0x80\n"
    "user_load_done:\n"
    "user_read: mov %fs:4, %eax\n"
    "	plain int $0x80\n"
    "user_read_done:\n"
    "user_rights: plain lar %edi, %eax\n"
    "	plain lsl %edi, %ecx\n"
    "	plain int $0x80\n"
    "user_rights_done:\n"
    ".code32\n"
    "user_load_32: plain mov %edi, %gs\n"
    "	mov %gs:4, %eax\n"
    "	int $0x80\n"
    "user_load_32_done:\n"
    "user_read_32: mov %gs:4, %eax\n"
    "	plain mov %gs, %ecx\n"
    "	int $0x80\n"
    "user_read_32_done:\n"
    "user_all_32: plain mov %edi, %ds\n"
    "	add $8, %edi\n"
    "	plain mov %edi, %es\n"
    "	plain mov %edi, %fs\n"
    "	add $8, %edi\n"
    "	plain mov %edi, %gs\n"
    "	mov 4, %eax\n"
    "	mov %es:4, %ecx\n"
    "	mov %fs:4, %edx\n"
    "	mov %gs:4, %ebx\n"
    "	int $0x80\n"
    "user_all_32_done:\n"
    "user_write_32: plain mov %edi, %ss\n" /* a push and a pop through it */
    "	mov $24, %esp\n"
    "	push $0x77\n"
    "	pop %eax\n"
    "	mov $0x2b, %ecx\n"
    "	plain mov %ecx, %ss\n"
    "	int $0x80\n"
    "user_write_32_done:\n"
    "user_bad_32: plain mov %edi, %gs\n"
    "	int $0x80\n"
    ".code64\n"
    ".balign 16\n"
    "user_words: .long 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88\n"
    "user_other_words: .long 0x111, 0x122, 0x133, 0x144\n"
    ".popsection");

static void set(uint16_t selector, const char* base) {
    gdt[selector / 8] = make_descriptor((uint32_t)user_address(base), 0xfff, data_of_user_mode, of_32_bits);
}

static struct exception run_32(const char* code, uint64_t argument) {
    struct user_start start = start_of(code, argument);
    start.cs = user_code32;
    return run_user_from(&start);
}

static void check_load(const char* what, const char* value, uint16_t selector, bool in_32_bits,
                       uint64_t expected) {
    const struct exception exception =
        in_32_bits ? run_32(user_load_32, selector) : run_user(user_load, selector);
    check_user_exception(what, &exception, user_exit, 0, in_32_bits ? user_load_32_done : user_load_done);
    check_equal(value, exception.frame.rax, expected);
}

static void check_kernel(void) {
    write_fs(first);
    check_equal("FS", read_fs(), first);
    check_equal("FS_BASE", read_msr(msr_fs_base), user_address(user_words));
    set(first, user_other_words);
    check_equal("FS_BASE, the descriptor is another's", read_msr(msr_fs_base), user_address(user_words));
    write_fs(first);
    check_equal("FS_BASE, loaded again", read_msr(msr_fs_base), user_address(user_other_words));
    write_fs(0);
    set(first, user_words);
}

static void check_all_registers(void) {
    const struct exception exception = run_32(user_all_32, first);
    check_user_exception("32-bit code: four registers", &exception, user_exit, 0, user_all_32_done);
    check_equal("DS", exception.frame.rax, 0x22);
    check_equal("ES", exception.frame.rcx, 0x33);
    check_equal("FS", exception.frame.rdx, 0x33);
    check_equal("GS", exception.frame.rbx, 0x44);
}

static void check_changes(void) {
    check_load("32-bit code: a load", "its value", first, true, 0x22);
    set(first, user_other_words);
    struct exception exception = run_32(user_read_32, 0);
    check_user_exception("its descriptor is another's", &exception, user_exit, 0, user_read_32_done);
    check_equal("the value is the same", exception.frame.rax, 0x22);
    check_equal("the selector too", exception.frame.rcx & 0xffff, first);
    check_load("32-bit code: loaded again", "the other's value", first, true, 0x122);
    set(first, user_words);
    check_load("32-bit code: a third time", "the first value", first, true, 0x22);
    exception = run_32(user_write_32, first);
    check_user_exception("32-bit code: a stack segment", &exception, user_exit, 0, user_write_32_done);
    check_equal("what it was given", exception.frame.rax, 0x77);
}

static void check_rights(void) {
    gdt[second / 8] = make_descriptor(0, 0xfffff, data_of_user_mode, in_pages);
    check_load("32-bit code: of 4 GiB", "a word of it", third, true, 0x44);
    const struct exception exception = run_user(user_rights, second);
    check_user_exception("lar and lsl", &exception, user_exit, 0, user_rights_done);
    check_equal("access rights", exception.frame.rax & 0xf0ff00, 0xc0f300); /* bits 16 to 19: any */
    check_equal("limit", exception.frame.rcx, 0xffffffff);
}

static void check_none(void) {
    gdt[first / 8] = 0;
    gdt[second / 8] = make_descriptor(0, 0xfffff, absent_data_of_user_mode, in_pages);
    struct exception exception = run_32(user_bad_32, first);
    check_user_exception("32-bit code: none any more", &exception, vector_protection, first & ~3,
                         user_bad_32);
    exception = run_32(user_bad_32, second);
    check_user_exception("32-bit code: not present", &exception, vector_not_present, second & ~3,
                         user_bad_32);
}

void guest(void) {
    load_descriptor_tables();
    prepare_user();
    set(first, user_words);
    set(second, user_words + 4);
    set(third, user_words + 8);
    check_load("64-bit code: the first", "its value", first, false, 0x22);
    check_load("64-bit code: the last", "its value", third, false, 0x44);
    check_kernel();
    check_all_registers();
    check_changes();
    check_rights();
    check_none();
    write_ds(0);
    write_es(0);
    write_fs(0);
    write_gs(0);
}
