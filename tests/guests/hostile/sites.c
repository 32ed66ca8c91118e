/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Jumps into the middle of what was rewritten: into a store's or call's operand, and into the padding behind.
 */
#include "hostile.h"

#include "harness/paging.h"

#include <previrt/annotate.h>

static void into(const uint8_t* site, unsigned offset) {
    const struct exception exception =
        exception_of("call *%[to]", [to] "r"(site + offset), "a"(0), "b"(0), "c"(0), "d"(0) : "memory", "cc");
    print("at %u: %s\n", offset, exception.frame.vector == no_exception ? "it came back" : "an exception");
}

static void into_all(const uint8_t* site, unsigned length) {
    at_the_deed();
    for (unsigned offset = 1; offset < length; ++offset) {
        into(site, offset);
    }
}

/* push $1; ret ... behind each, so that whoever slides out of it returns. */
#define SITE(name, instruction)                                                                              \
    asm(".text\n" #name ": " instruction "\n" #name "_end: ret\n");                                          \
    extern const uint8_t name[], name##_end[]

SITE(cli_site, "cli");
SITE(sti_site, "sti");
SITE(read_cr3_site, "mov %cr3, %rax");
SITE(write_cr3_site, "mov %rax, %cr3");
SITE(port_site, "outb %al, $0x80");
SITE(swapgs_site, "swapgs");
SITE(iret_site, "iretq");
SITE(hlt_site, "hlt");

#define INTO(name) into_all(name, (unsigned)(name##_end - name))

CASE into_cli(void) {
    INTO(cli_site);
}
CASE into_sti(void) {
    INTO(sti_site);
}
CASE into_read_cr3(void) {
    INTO(read_cr3_site);
}
CASE into_write_cr3(void) {
    INTO(write_cr3_site);
}
CASE into_port(void) {
    INTO(port_site);
}
CASE into_swapgs(void) {
    INTO(swapgs_site);
}
CASE into_iret(void) {
    INTO(iret_site);
}
CASE into_hlt(void) {
    INTO(hlt_site);
}

DEFINE_GUEST
