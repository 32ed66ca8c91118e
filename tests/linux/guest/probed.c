/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A program with a place for uprobes: a function that begins with an instruction to be stepped.
 */
#include <stdio.h>

long triple(long value);

__asm__(".text\n"
        ".globl triple\n"
        "triple: leaq (%rdi,%rdi,2), %rax\n"
        "ret\n");

int main(void) {
    long sum = 0;
    for (long i = 0; i < 10; ++i) {
        sum += triple(i);
    }
    puts(sum == 135 ? "probed: right" : "probed: wrong");
    return 0;
}
