/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Guests that do what no kernel should. A file has several cases; each is a guest of its own, HOSTILE_CASE.
 */
#pragma once

#include "harness/check.h"
#include "harness/console.h"
#include "harness/descriptors.h"
#include "harness/exceptions.h"
#include "harness/registers.h"

#define HOSTILE_STRING(name) #name
#define HOSTILE_NAME(name) HOSTILE_STRING(name)

/* The others are left out of the guest. */
#define CASE static __attribute__((unused)) void

enum {
    ram_bytes = 64 << 20, /* as hostile.sh gives */
    unmapped_area = 0x50000000,
};

#ifdef IN_PROCESS
#include "process.h"
#else
#define vmm_image UINT64_C(0xffffffffffe00000) /* backends/xen/layout.hpp */
#define vmm_map UINT64_C(0xfffffe8000000000)
#define hypervisor_area UINT64_C(0xffff820000000000) /* xen/include/public/arch-x86/xen-x86_64.h */
static inline void await_reader(void) {}
#endif
#define non_canonical UINT64_C(0x8000000000000000)

static inline uint64_t next_random(uint64_t* state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Of a guest that may end in any way its test wants this line: it came as far as the deed. */
static inline void at_the_deed(void) {
    print("deed: %s\n", HOSTILE_NAME(HOSTILE_CASE));
    await_reader();
}

#define DEFINE_GUEST                                                                                         \
    void guest(void) {                                                                                       \
        load_descriptor_tables();                                                                            \
        print("hostile: %s\n", HOSTILE_NAME(HOSTILE_CASE));                                                  \
        await_reader();                                                                                      \
        HOSTILE_CASE();                                                                                      \
    }
