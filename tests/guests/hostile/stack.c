/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A stack pointer that names no stack, then an exception or a rewritten site. Bare hardware would push the
 * frame of the exception, fault twice more and reset.
 */
#include "hostile.h"

#define WITH_STACK(address, instruction)                                                                     \
    at_the_deed();                                                                                           \
    asm volatile("mov %[rsp], %%rsp\n" instruction : : [rsp] "r"((uint64_t)(address)) : "memory")

CASE stack_unmapped_exception(void) {
    WITH_STACK(0x5000000000, "ud2");
}
CASE stack_unmapped_site(void) {
    WITH_STACK(0x5000000000, "pushfq");
}
CASE stack_null_exception(void) {
    WITH_STACK(0xffffffffffffffff, "ud2");
}
CASE stack_non_canonical_exception(void) {
    WITH_STACK(non_canonical, "ud2");
}
CASE stack_non_canonical_site(void) {
    WITH_STACK(non_canonical, "sti\n pushfq");
}
CASE stack_in_hypervisor_exception(void) {
    WITH_STACK(hypervisor_area, "int3");
}
CASE stack_in_hypervisor_site(void) {
    WITH_STACK(hypervisor_area, "pushfq");
}
CASE stack_in_vmm_exception(void) {
    WITH_STACK(vmm_image + 0x4000, "ud2");
}
CASE stack_in_vmm_site(void) {
    WITH_STACK(vmm_image + 0x4000, "cli\n pushfq\n popfq\n ud2");
}
CASE stack_in_map_exception(void) {
    WITH_STACK(vmm_map + 0x4000, "ud2");
}

DEFINE_GUEST
