/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 18
 *
 * A local descriptor table: selectors with bit 2 (TI) set name its descriptors, for the kernel and for user
 * mode, from LLDT on. With a null LDT they are #GP with the selector.
 */
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/registers.h"
#include "harness/user.h"

enum {
    table_bit = 4,
    local_data = 0 | table_bit | 3,
    local_code32 = 8 | table_bit | 3,
    absent_data = 16 | table_bit | 3,
    beyond_limit = 32 | table_bit | 3,
    one_byte_data = 24 | table_bit | 3, /* base and limit are 0 */
    access_ldt = 0x82,
};

static uint64_t descriptors[4] __attribute__((aligned(4096)));

static void load_ldt(uint16_t selector) {
    asm volatile("lldt %[selector]" : : [selector] "r"(selector) : "memory");
}

extern char user_words[];
extern const char user_load[], user_load_done[], user_code_32[], user_code_32_done[], user_bad[];
extern const char user_rights[], user_rights_done[];
asm(".pushsection .user, \"aw\"\n"
    "user_load: plain mov %edi, %fs\n"
    "	mov %fs:4, %eax\n"
    "	plain int $0x80\n"
    "user_load_done:\n"
    "user_bad: plain mov %edi, %es\n"
    "	plain int $0x80\n"
    "user_rights: plain lar %edi, %eax\n"
    "	plain lsl %edi, %ecx\n"
    "	plain int $0x80\n"
    "user_rights_done:\n"
    ".code32\n"
    "user_code_32: plain mov %edi, %ds\n"
    "	mov 8, %eax\n" /* at DS's base */
    "	int $0x80\n"
    "user_code_32_done:\n"
    ".code64\n"
    ".balign 16\n"
    "user_words: .long 0x11, 0x22, 0x33, 0x44\n"
    ".popsection");

static void check_kernel(void) {
    uint32_t selector;
    uint64_t value;
    struct exception exception = exception_of("mov %[selector], %%fs", [selector] "r"(local_data) :);
    check_exception("null LDT", &exception, vector_protection, local_data & ~3, at_instruction);
    set_system_descriptor(local_table, descriptors, sizeof descriptors - 1, access_ldt);
    load_ldt(local_table);
    asm volatile("sldt %[selector]" : [selector] "=r"(selector));
    check_equal("sldt", selector, local_table);
    write_fs(local_data);
    check_equal("FS", read_fs(), local_data);
    check_equal("FS_BASE", read_msr(msr_fs_base), user_address(user_words));
    asm volatile("movl %%fs:4, %k[value]" : [value] "=r"(value));
    check_equal("a load through FS", value, 0x22);
    exception = exception_of("mov %[selector], %%es", [selector] "r"(absent_data) :);
    check_exception("not present", &exception, vector_not_present, absent_data & ~3, at_instruction);
    exception = exception_of("mov %[selector], %%es", [selector] "r"(beyond_limit) :);
    check_exception("beyond the limit", &exception, vector_protection, beyond_limit & ~3, at_instruction);
    exception = exception_of("lldt %w[selector]", [selector] "r"(local_data) :);
    check_exception("an LDT named in the LDT", &exception, vector_protection, local_data & ~3,
                    at_instruction);
}

static void check_user(void) {
    struct exception exception = run_user(user_load, local_data);
    check_user_exception("user: a load through FS", &exception, user_exit, 0, user_load_done);
    check_equal("its value", exception.frame.rax, 0x22);
    exception = run_user(user_bad, absent_data);
    check_user_exception("user: not present", &exception, vector_not_present, absent_data & ~3, user_bad);
    exception = run_user(user_rights, one_byte_data);
    check_user_exception("user: a segment of one byte at 0", &exception, user_exit, 0, user_rights_done);
    check_equal("its access rights", exception.frame.rax, 0x40f300);
    check_equal("its limit", exception.frame.rcx, 0);

    struct user_start start = start_of(user_code_32, local_data);
    start.cs = local_code32;
    exception = run_user_from(&start);
    check_user_exception("user: code and data of the LDT", &exception, user_exit, 0, user_code_32_done);
    check_equal("its value", exception.frame.rax, 0x33);
    check_equal("CS", exception.frame.cs, local_code32);
}

void guest(void) {
    load_descriptor_tables();
    prepare_user();
    descriptors[local_data / 8] = make_descriptor((uint32_t)user_address(user_words), 0xfff, 0xf3, 0x4);
    descriptors[local_code32 / 8] = make_descriptor(0, 0xfffff, 0xfb, 0xc);
    descriptors[absent_data / 8] = make_descriptor(0, 0xfffff, 0x73, 0xc);
    descriptors[one_byte_data / 8] = make_descriptor(0, 0, 0xf3, 0x4);
    check_kernel();
    check_user();
    write_fs(0);
    load_ldt(0);
    const struct exception exception = run_user(user_load, local_data);
    check_user_exception("user: null LDT again", &exception, vector_protection, local_data & ~3, user_load);
}
