/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What a guest file defines; start.S calls it. */
void guest(void);

/* Each prints one line, "ok: what" or "FAIL: what" and the difference. */
void check(const char* what, bool good);
void check_equal(const char* what, uint64_t actual, uint64_t expected);
