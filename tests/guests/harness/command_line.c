/* SPDX-License-Identifier: BSD-2-Clause */
#include "command_line.h"

#include <stdbool.h>

enum { command_line_pointer = 0x228 };

/* RSI at `start`. */
extern const uint8_t* given_parameters;

static const char* after_name(const char* text, const char* name) {
    while (*name && *text == *name) {
        ++text;
        ++name;
    }
    return !*name && *text == '=' ? text + 1 : 0;
}

uint64_t command_line_number(const char* name, uint64_t otherwise) {
    const uintptr_t place = *(const uint32_t*)(given_parameters + command_line_pointer);
    uint64_t number = otherwise;
    bool begins = true;
    for (const char* text = (const char*)place; place && *text; ++text) {
        const char* digits = begins ? after_name(text, name) : 0;
        begins = *text == ' ';
        if (!digits) {
            continue;
        }
        for (number = 0; *digits >= '0' && *digits <= '9'; ++digits) {
            number = number * 10 + (uint64_t)(*digits - '0');
        }
    }
    return number;
}
