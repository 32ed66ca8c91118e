/* SPDX-License-Identifier: BSD-2-Clause */
#include "descriptors.h"
#include "paging.h"
#include "user.h"

extern char user_begin[], user_end[];

void prepare_user(void) {
    const uint64_t flags = page_present | page_writable | page_user;
    load_page_tables();
    for (uintptr_t offset = 0; offset < (uintptr_t)(user_end - user_begin); offset += page_size) {
        map_page(user_base + offset, (uintptr_t)user_begin + offset, flags);
    }
    map_page(user_stack_top - page_size, (uintptr_t)allocate_page(), flags);
    set_gate(user_exit, vector_entry(user_exit), interrupt_gate, 3);
}
