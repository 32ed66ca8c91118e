/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The command line that the loader gave: on a bare PC by PVH, else by Linux's boot parameters.
 */
#pragma once

#include <stdint.h>

/* The decimal number behind `name=`, or the default. */
uint64_t command_line_number(const char* name, uint64_t otherwise);
