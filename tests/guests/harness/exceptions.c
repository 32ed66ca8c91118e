/* SPDX-License-Identifier: BSD-2-Clause */
#include "exceptions.h"

#include "console.h"
#include "registers.h"
#include "user.h"

volatile struct expectation expectation;
struct exception last_exception;
handler* handlers[256];

extern const char vector_entries[];

const void* vector_entry(unsigned vector) {
    return vector_entries + (uintptr_t)16 * vector;
}

void arm_expectation(void) {
    last_exception.frame.vector = no_exception;
    expectation.armed = true;
}

static enum place place_of(uint64_t rip) {
    if (rip == expectation.at) {
        return at_instruction;
    }
    return rip > expectation.at && rip <= expectation.behind ? behind_instruction : elsewhere;
}

static const char* vector_name(uint64_t vector) {
    static const char* const names[] = {"#DE", "#DB",       "NMI",      "#BP", "#OF", "#BR", "#UD",
                                        "#NM", "#DF",       "vector 9", "#TS", "#NP", "#SS", "#GP",
                                        "#PF", "vector 15", "#MF",      "#AC", "#MC", "#XM"};
    if (vector < sizeof names / sizeof names[0]) {
        return names[vector];
    }
    return "a vector above 0x13";
}

_Noreturn static void fail_unexpected(const struct frame* frame, uint64_t cr2) {
    print("FAIL: unexpected %s (0x%lx), error code 0x%lx, at 0x%lx, cs 0x%lx, rflags 0x%lx, rsp 0x%lx, ss "
          "0x%lx, "
          "cr2 0x%lx\n",
          vector_name(frame->vector), frame->vector, frame->error_code, frame->rip, frame->cs, frame->rflags,
          frame->rsp, frame->ss, cr2);
    abandon_guest();
}

void handle_interrupt(struct frame* frame);

void handle_interrupt(struct frame* frame) {
    handler* const own = handlers[frame->vector & 0xff];
    if (own) {
        own(frame);
        return;
    }
    const uint64_t cr2 = frame->vector == vector_page_fault ? read_cr2() : 0;
    const bool from_user = (frame->cs & 3) == 3 && user_return_rsp;
    if (!from_user && !expectation.armed) {
        fail_unexpected(frame, cr2);
    }
    last_exception = (struct exception){*frame, cr2, (uintptr_t)(frame + 1), place_of(frame->rip)};
    if (from_user) {
        leave_user(frame);
    } else {
        expectation.armed = false;
        frame->rip = expectation.behind;
        frame->rsp = expectation.rsp;
        frame->rflags &= ~(uint64_t)flag_trap;
    }
}

static void print_exception(uint64_t vector, uint64_t error_code, enum place place) {
    static const char* const places[] = {"at it", "behind it", "in place", "elsewhere"};
    if (vector == no_exception) {
        print("no exception");
    } else if (vector > vector_simd) {
        print("vector 0x%lx %s", vector, places[place]);
    } else if (error_code) {
        print("%s(0x%lx) %s", vector_name(vector), error_code, places[place]);
    } else {
        print("%s %s", vector_name(vector), places[place]);
    }
}

void check_exception(const char* what, const struct exception* exception, unsigned vector,
                     uint64_t error_code, enum place place) {
    const struct frame* const frame = &exception->frame;
    const bool good =
        frame->vector == vector &&
        (vector == no_exception || (frame->error_code == error_code && exception->place == place));
    print("%s: %s: ", good ? "ok" : "FAIL", what);
    print_exception(frame->vector, frame->error_code, exception->place);
    if (!good) {
        print(" instead of ");
        print_exception(vector, error_code, place);
    }
    print("\n");
}
