/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 21
 *
 * The local APIC's timer: a single shot, a period, its divider, its mask. By the time-stamp counter, where
 * CPUID offers it (QEMU's own processor does not): the interrupt comes when the counter has passed
 * IA32_TSC_DEADLINE, which is then 0; 0 takes it back; what has passed is due at once; what lies far away
 * does not come.
 */
#include "harness/apic.h"
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/exceptions.h"
#include "harness/paging.h"
#include "harness/pic.h"
#include "harness/registers.h"
#include "harness/timer.h"

enum { vector = 0x61, count = 200000, shots = 50 };

static volatile unsigned ticks;
static uint64_t time_in_handler;

static uint64_t read_time_stamp(void) {
    uint32_t low;
    uint32_t high;
    asm volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
    return (uint64_t)high << 32 | low;
}

static void tick(struct frame* frame) {
    (void)frame;
    time_in_handler = read_time_stamp();
    ++ticks;
    write_apic(apic_end_of_interrupt, 0);
}

static void sleep(void) {
    asm volatile("sti\n hlt\n cli" : : : "memory");
}

static void let_in(void) {
    asm volatile("sti\n nop\n nop\n cli" : : : "memory");
}

static void check_count(void) {
    write_apic(apic_divide, apic_divide_by_1);
    check_equal("divider", read_apic(apic_divide), apic_divide_by_1);
    write_apic(apic_timer_vector, apic_masked | vector);
    write_apic(apic_initial_count, UINT32_MAX);
    check_equal("initial count", read_apic(apic_initial_count), UINT32_MAX);
    uint32_t last = UINT32_MAX;
    bool falls = true;
    for (unsigned i = 0; i < 100; ++i) {
        const uint32_t now = read_apic(apic_current_count);
        falls = falls && now <= last && now != 0;
        last = now;
    }
    check("it counts down", falls && last < UINT32_MAX);
    write_apic(apic_initial_count, 0);
    check_equal("0 stops it", read_apic(apic_current_count), 0);
    write_apic(apic_initial_count, count);
    while (read_apic(apic_current_count) != 0) {
    }
    ticks = 0;
    let_in();
    check_equal("masked: no interrupt", ticks, 0);
    check("nor a request", !apic_vector_is_set(apic_request, vector));
}

static void check_one_shot(void) {
    ticks = 0;
    write_apic(apic_timer_vector, vector);
    for (unsigned i = 0; i < shots; ++i) {
        write_apic(apic_initial_count, count / (1 + i % 7));
        while (ticks == i) {
            sleep();
        }
    }
    check_equal("single shots: interrupts", ticks, shots);
    check_equal("the count stays at 0", read_apic(apic_current_count), 0);
    write_apic(apic_divide, apic_divide_by_16);
    write_apic(apic_initial_count, count / 16);
    while (!apic_vector_is_set(apic_request, vector)) {
    }
    check_equal("divided: requested at the end", read_apic(apic_current_count), 0);
    let_in();
    check_equal("and taken", ticks, shots + 1);
    write_apic(apic_divide, apic_divide_by_1);
}

static void check_periodic(void) {
    ticks = 0;
    write_apic(apic_timer_vector, apic_periodic | vector);
    write_apic(apic_initial_count, count);
    while (ticks < shots) {
        sleep();
    }
    check("a period: many interrupts", true);
    check("it counts again", read_apic(apic_current_count) <= count);
    write_apic(apic_initial_count, 0);
    let_in();
    const unsigned before = ticks;
    write_apic(apic_timer_vector, vector);
    write_apic(apic_initial_count, count);
    while (ticks == before) {
        sleep();
    }
    check_equal("stopped: none but the next shot's", ticks, before + 1);
}

/* A PIT's shot, so that hlt ends. */
static void sleep_for_the_pit(void) {
    start_one_shot(10000);
    unmask_irq(0);
    sleep();
    mask_irq(0);
}

static void end_pit(struct frame* frame) {
    (void)frame;
    end_of_interrupt(0);
}

static bool deadline_is_offered(void) {
    uint32_t features = 0;
    asm volatile("cpuid" : "+a"((uint32_t){1}), "=c"(features) : : "rbx", "rdx");
    return features >> 24 & 1;
}

enum deadline_check { mode, early, came, cleared, taken_back, past, far, other_mode, deadline_checks };
static const char* const deadline_names[deadline_checks] = {"deadline: there is no count",
                                                            "none comes early",
                                                            "each comes once",
                                                            "and is over",
                                                            "0 takes it back",
                                                            "one that has passed is due at once",
                                                            "one that is far away does not come",
                                                            "in another mode there is none"};

static void run_deadlines(bool good[deadline_checks]) {
    write_apic(apic_timer_vector, apic_deadline | vector);
    write_apic(apic_initial_count, count);
    good[mode] = read_apic(apic_current_count) == 0 && read_apic(apic_initial_count) == 0;
    ticks = 0;
    for (unsigned i = 0; i < shots; ++i) {
        const uint64_t deadline = read_time_stamp() + UINT64_C(100000) * (i % 9);
        write_msr(msr_deadline, deadline);
        while (ticks == i) {
            sleep();
        }
        good[early] = good[early] && time_in_handler >= deadline;
        good[cleared] = good[cleared] && read_msr(msr_deadline) == 0;
    }
    let_in();
    good[came] = ticks == shots;
    ticks = 0;
    const uint64_t later = read_time_stamp() + (UINT64_C(1) << 40);
    write_msr(msr_deadline, later);
    good[taken_back] = read_msr(msr_deadline) == later;
    write_msr(msr_deadline, 0);
    good[taken_back] = good[taken_back] && read_msr(msr_deadline) == 0;
    sleep_for_the_pit();
    good[taken_back] = good[taken_back] && ticks == 0;
    write_msr(msr_deadline, 1);
    let_in();
    good[past] = ticks == 1;
    write_msr(msr_deadline, UINT64_MAX);
    sleep_for_the_pit();
    good[far] = ticks == 1 && read_msr(msr_deadline) == UINT64_MAX;
    write_apic(apic_timer_vector, vector);
    write_msr(msr_deadline, 1);
    let_in();
    good[other_mode] = ticks == 1 && read_msr(msr_deadline) == 0;
}

static void check_deadline(void) {
    bool good[deadline_checks];
    for (unsigned i = 0; i < deadline_checks; ++i) {
        good[i] = true;
    }
    if (deadline_is_offered()) {
        run_deadlines(good);
    }
    for (unsigned i = 0; i < deadline_checks; ++i) {
        check(deadline_names[i], good[i]);
    }
}

void guest(void) {
    load_descriptor_tables();
    load_page_tables();
    map_apic();
    quiet_timer();
    handlers[vector] = tick;
    handlers[first_irq_vector] = end_pit;
    write_apic(apic_spurious_vector, apic_on | 0xff);
    check_count();
    check_one_shot();
    check_periodic();
    check_deadline();
}
