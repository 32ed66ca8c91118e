/* SPDX-License-Identifier: BSD-2-Clause */
#include "user.h"

#include "descriptors.h"
#include "registers.h"

uint64_t user_return_rsp;

void enter_user_mode(const struct user_start* start);
extern const char user_begin[], user_returned[];

uint64_t user_address(const char* symbol) {
    return user_base + (uint64_t)(symbol - user_begin);
}

struct user_start start_of(const char* code, uint64_t argument) {
    return (struct user_start){user_address(code), user_code, flag_always_one | flag_interrupt,
                               user_stack_top,     user_data, argument};
}

struct exception run_user_from(const struct user_start* start) {
    enter_user_mode(start);
    return last_exception;
}

struct exception run_user(const char* code, uint64_t argument) {
    const struct user_start start = start_of(code, argument);
    return run_user_from(&start);
}

void leave_user(struct frame* frame) {
    frame->rip = (uintptr_t)user_returned;
    frame->cs = kernel_code;
    frame->rflags = flag_always_one;
    frame->rsp = user_return_rsp;
    frame->ss = kernel_data;
    user_return_rsp = 0;
}

void check_user_exception(const char* what, const struct exception* exception, unsigned vector,
                          uint64_t error_code, const char* symbol) {
    struct exception placed = *exception;
    placed.place = exception->frame.rip == user_address(symbol) ? at_symbol : elsewhere;
    check_exception(what, &placed, vector, error_code, at_symbol);
}
