/* SPDX-License-Identifier: BSD-2-Clause
 *
 * User mode. Code for it stands in section .user, which the kernel maps at user_base and never executes
 * itself: to the kernel it is data, as a program's text is to Linux. So it carries no records, and `plain`
 * keeps the macros from making some: plain int $0x80.
 */
#pragma once

#include "exceptions.h"

asm(".macro plain insn:vararg\n"
    "\t{nooptimize} \\insn\n"
    ".endm");

enum {
    user_base = 0x40000000,
    user_stack_top = 0x40200000, /* one page below it */
    user_exit = 0x80,            /* a gate that user mode may use */
};

/* Addressed by user.S. */
struct user_start {
    uint64_t rip, cs, rflags, rsp, ss, rdi;
};

extern uint64_t user_return_rsp;

/* Page tables with the user's pages, and the gate user_exit. Needs load_descriptor_tables. */
void prepare_user(void);

/* The address at which user mode has something of section .user. */
uint64_t user_address(const char* symbol);

/* Enter user mode by IRETQ, and come back with the first exception or INT. */
struct exception run_user(const char* code, uint64_t argument);
struct exception run_user_from(const struct user_start* start);
struct user_start start_of(const char* code, uint64_t argument);

/* Makes a frame return from the user's exception to the caller of run_user. */
void leave_user(struct frame* frame);

/* "ok: what: #GP in place", for an exception that user mode raised at this symbol. */
void check_user_exception(const char* what, const struct exception* exception, unsigned vector,
                          uint64_t error_code, const char* symbol);
