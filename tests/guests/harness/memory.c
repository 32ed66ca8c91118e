/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What gcc expects of a freestanding environment. -fno-tree-loop-distribute-patterns keeps it from making
 * calls to themselves of these loops.
 */
#include <stddef.h>

void* memcpy(void* restrict to, const void* restrict from, size_t bytes);
void* memset(void* to, int value, size_t bytes);
int memcmp(const void* left, const void* right, size_t bytes);

void* memcpy(void* restrict to, const void* restrict from, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) {
        ((char*)to)[i] = ((const char*)from)[i];
    }
    return to;
}

void* memset(void* to, int value, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) {
        ((char*)to)[i] = (char)value;
    }
    return to;
}

int memcmp(const void* left, const void* right, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) {
        const int difference = ((const unsigned char*)left)[i] - ((const unsigned char*)right)[i];
        if (difference) {
            return difference;
        }
    }
    return 0;
}
