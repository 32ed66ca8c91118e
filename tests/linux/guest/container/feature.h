/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A feature of the kernel that container engines and their tools call. Each runs in a process of its own and returns if all
 * is well.
 */
#pragma once
#include "../parts.h"

void bpf_programs(void);
void system_call_filters(void);
void landlock_rules(void);
void memory_of_processes(void);
void page_monitor(void);
void user_page_faults(void);
void file_handles(void);
void file_events(void);
void extended_attributes(void);
void early_entropy(void);
void task_statistics(void);
