/* SPDX-License-Identifier: BSD-2-Clause
 *
 * SYSCALL and SYSRET.
 */
#pragma once

/* SYSCALL enters the kernel there with all flags clear. */
void enable_system_calls(const char* entry);

/* An entry, and the shortest way through the kernel there is: RSP is the user's all the time. RAX becomes
 * RDI + 1. */
extern const char increment_entry[];
