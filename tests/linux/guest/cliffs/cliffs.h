/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

enum { page_size = 4096 };

/* Ends the program with the reason, unless the condition holds. */
void require(int condition, const char *what);
uint8_t *map(size_t bytes, int flags);
/* 1: the child did not end with status 0. */
unsigned wait_for(pid_t child);
void write_file(const char *path, const char *text);
uint32_t random_below(uint32_t limit);

/* Each gives the number of things that were wrong. */
unsigned share_among_processes(unsigned processes, size_t bytes);
unsigned fork_huge_pages(size_t bytes);
unsigned change_mappings(unsigned steps);
unsigned run_out_of_memory(size_t kept);
