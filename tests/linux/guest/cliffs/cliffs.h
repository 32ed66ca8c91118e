/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#include "../program.h"

void write_file(const char *path, const char *text);

/* Each gives the number of things that were wrong. */
unsigned share_among_processes(unsigned processes, size_t bytes);
unsigned fork_huge_pages(size_t bytes);
unsigned change_mappings(unsigned steps);
unsigned run_out_of_memory(size_t kept);
