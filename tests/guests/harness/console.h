/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

void start_console(void);
void print_character(char character);

/* Knows %s, %c, %u, %x, and %lu, %lx. */
__attribute__((format(printf, 1, 2))) void print(const char* format, ...);

/* Both say how the guest ended, and reset the machine. */
_Noreturn void end_guest(void);
_Noreturn void abandon_guest(void);
