/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 12
 *
 * Operands of user mode that lie with the kernel. In 32-bit code with a null selector in DS an access through
 * DS is #GP(0) (SDM volume 3, 5.4.1 and 5.7), whatever memory it names. A VMM executes some instructions of
 * user mode after their #GP, such as IN with a permission bitmap. It must not execute these as 64-bit code,
 * to which DS does not matter, and never with the kernel's rights.
 *
 * The vector is not compared: QEMU's TCG does not look at DS, and raises #PF for the kernel's page.
 */
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/user.h"

/* Each begins with a null selector in DS, and accesses EDI. */
extern const char user_store_selector[], user_load_pointer[], user_store_table[], user_load_rights[];
asm(".macro user_operand name, instruction:vararg\n"
    "	.pushsection .user, \"aw\"\n"
    "	.code32\n"
    "\\name: xor %ecx, %ecx\n"
    "	plain mov %ecx, %ds\n"
    "	plain \\instruction\n"
    "	plain int $0x80\n"
    "	.code64\n"
    "	.popsection\n"
    ".endm\n"
    "user_operand user_store_selector, mov %ss, (%edi)\n"
    "user_operand user_load_pointer, lfs (%edi), %ecx\n"
    "user_operand user_store_table, sgdt (%edi)\n"
    "user_operand user_load_rights, lar (%edi), %ecx\n");

/* The kernel's. */
static volatile uint64_t memory;

static void check_operand(const char* what, const char* code, uint64_t before) {
    memory = before;
    struct user_start start = start_of(code, (uintptr_t)&memory);
    start.cs = user_code32;
    const struct exception exception = run_user_from(&start);
    check(what, exception.frame.vector != user_exit);
    check_equal("the kernel's memory", memory, before);
    check_equal("ECX", exception.frame.rcx, 0);
}

void guest(void) {
    load_descriptor_tables();
    prepare_user();
    check_operand("mov from SS", user_store_selector, 0);
    check_operand("lfs", user_load_pointer, (uint64_t)user_data << 32 | 0x1234);
    check_operand("sgdt", user_store_table, 0);
    check_operand("lar", user_load_rights, user_data);
}
