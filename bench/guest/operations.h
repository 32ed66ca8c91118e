/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct operation {
	const char *name;
	void (*run)(void);
	unsigned times; /* where instructions are counted */
	void (*prepare)(void);
	void (*finish)(void);
	unsigned most; /* between prepare and finish; 0: any number */
};

extern const struct operation operations[];
extern const size_t operation_count;

/* Before the first operation and behind the last. `program`: how this one is called; with the argument `exit` it has to
 * end at once. */
void begin_operations(const char *program);
void end_operations(void);

void repeat(const struct operation *operation, unsigned times);

extern const char *scratch_file;

void map_pages(size_t pages);
void unmap_pages(void);
extern char *memory;

void require(int condition, const char *what);
void print_kernel(void);
uint64_t ticks(void);
