/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A facility is what programs expect of a kernel. Each runs in a process of its own and returns if all is well.
 */
#pragma once
#include "../parts.h"

void address_space(void);
void threads(void);
void floating_point(void);
void mappings(void);
void memory_faults(void);
void shared_memory(void);
void clocks(void);
void timers(void);
void files(void);
void code_as_data(void);
void single_steps(void);
void modes(void);
void watchpoints(void);

/*
 * Of the machine beneath the kernel, as its command line says: lacks=WHAT. Who asks has to see that it does lack it, or the
 * command line is wrong.
 */
int is_lacking(const char *what);
