/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Annotated accesses to RAM are loads and stores.
 */
#pragma once

#include "harness/check.h"

#include <previrt/annotate.h>
#include <stdint.h>

/* Any of this width and value. */
#define CHECK_RAM(bits, value)                                                                               \
    ram[0] = UINT64_MAX;                                                                                     \
    previrt_mmio_write##bits(PREVIRT_DEVICE_ANY, ram, value);                                                \
    check_equal("annotated: RAM is written, " #bits " bits", ram[0],                                         \
                (bits == 64 ? 0 : UINT64_MAX << bits % 64) | (value));                                       \
    check_equal("and read", previrt_mmio_read##bits(PREVIRT_DEVICE_ANY, ram), value)

static void check_annotated_ram(uint64_t* ram) {
    CHECK_RAM(8, 0x12U);
    CHECK_RAM(16, 0x1234U);
    CHECK_RAM(32, 0x12345678U);
    CHECK_RAM(64, UINT64_C(0x123456789abcdef0));
}
