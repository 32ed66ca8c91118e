/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 43
 *
 * The local APIC: IA32_APIC_BASE and CPUID agree, a command to itself is an interrupt, which waits in IRR for
 * the processor's priority, is in ISR until its end (EOI), and holds off its own class and lower ones. CR8 is
 * the upper half of the task priority. Firmware leaves LINT0 open: the 8259s' interrupts pass, whatever the
 * priority is, unless it is masked.
 *
 * Left out: which goes first of an interrupt of the APIC and one of the 8259s, of which the manual says
 * nothing.
 */
#include "harness/apic.h"
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/exceptions.h"
#include "harness/paging.h"
#include "harness/pic.h"
#include "harness/registers.h"
#include "harness/timer.h"

enum { low_vector = 0x51, same_class = 0x5e, high_vector = 0x91 };

static unsigned order[8];
static unsigned taken;
static bool ends = true;
static bool nests;
static uint32_t priority_in_handler;

static void take(struct frame* frame) {
    const unsigned vector = (unsigned)frame->vector;
    order[taken++ % 8] = vector;
    priority_in_handler = read_apic(apic_processor_priority) & 0xf0;
    if (nests) {
        nests = false;
        write_apic(apic_command_low, apic_to_self | same_class);
        write_apic(apic_command_low, apic_to_self | high_vector);
        enable_interrupts();
        asm volatile("nop\n nop");
        disable_interrupts();
    }
    if (ends) {
        write_apic(apic_end_of_interrupt, 0);
    }
}

static void take_irq(struct frame* frame) {
    (void)frame;
    order[taken++ % 8] = first_irq_vector;
    end_of_interrupt(0);
}

static void let_in(void) {
    taken = 0;
    asm volatile("sti\n nop\n nop\n cli" : : : "memory");
}

static void send(unsigned vector) {
    write_apic(apic_command_low, apic_to_self | vector);
}

static void check_identity(void) {
    uint32_t features = 0;
    uint32_t identity = 0;
    asm volatile("cpuid" : "+a"((uint32_t){1}), "=b"(identity), "=d"(features) : : "rcx");
    check("CPUID: there is a local APIC", features >> 9 & 1);
    check_equal("its base", read_msr(msr_apic_base),
                apic_place | apic_base_enabled | apic_base_boot_processor);
    check_equal("its ID is CPUID's", read_apic(apic_id) >> 24, identity >> 24);
}

static void check_registers(void) {
    write_apic(apic_logical_destination, 0x01000000);
    check_equal("logical destination", read_apic(apic_logical_destination), 0x01000000);
    write_apic(apic_destination_format, UINT32_MAX);
    check_equal("flat", read_apic(apic_destination_format), UINT32_MAX);
    write_apic(apic_spurious_vector, apic_on | 0xff);
    check_equal("spurious vector", read_apic(apic_spurious_vector), apic_on | 0xff);
    write_apic(apic_error_vector, 0xfe);
    check_equal("error vector", read_apic(apic_error_vector), 0xfe);
    write_apic(apic_error_vector, apic_masked | 0xfe);
    check_equal("it is masked", read_apic(apic_error_vector), apic_masked | 0xfe);
}

static void check_command(void) {
    send(low_vector);
    check("a command: requested", apic_vector_is_set(apic_request, low_vector));
    check("not in service", !apic_vector_is_set(apic_in_service, low_vector));
    ends = false;
    let_in();
    check_equal("taken", taken, 1);
    check_equal("with its vector", order[0], low_vector);
    check_equal("the priority is its class", priority_in_handler, low_vector & 0xf0);
    check("in service", apic_vector_is_set(apic_in_service, low_vector));
    check("no longer requested", !apic_vector_is_set(apic_request, low_vector));
    send(same_class);
    let_in();
    check_equal("one of the same class waits", taken, 0);
    send(high_vector);
    let_in();
    check_equal("a higher one comes in between", order[0], high_vector);
    ends = true;
    write_apic(apic_end_of_interrupt, 0);
    check("the end is the highest one's", !apic_vector_is_set(apic_in_service, high_vector) &&
                                              apic_vector_is_set(apic_in_service, low_vector));
    write_apic(apic_end_of_interrupt, 0);
    let_in();
    check_equal("behind the end, the one that waited", order[0], same_class);
    check_equal("and nothing else", taken, 1);
    check_equal("the priority is back", read_apic(apic_processor_priority), 0);
}

static void check_priority(void) {
    write_apic(apic_task_priority, low_vector & 0xf0);
    check_equal("CR8", read_cr8(), low_vector >> 4);
    check_equal("task priority is the processor's", read_apic(apic_processor_priority), low_vector & 0xf0);
    send(low_vector);
    send(high_vector);
    let_in();
    check_equal("task priority: the higher one alone", taken, 1);
    check_equal("it is that", order[0], high_vector);
    write_cr8((low_vector >> 4) - 1);
    check_equal("CR8 is the task priority", read_apic(apic_task_priority), (low_vector & 0xf0) - 0x10);
    let_in();
    check_equal("lowered: the other one", order[0], low_vector);
    write_cr8(0);
    send(low_vector);
    send(high_vector);
    let_in();
    check_equal("both", taken, 2);
    check_equal("the higher one first", order[0], high_vector);
    check_equal("the lower one behind", order[1], low_vector);
    nests = true;
    send(low_vector);
    let_in();
    check_equal("nested: all three", taken, 3);
    check_equal("the higher one in between", order[1], high_vector);
    check_equal("the same class at last", order[2], same_class);
}

static void check_destinations(void) {
    write_apic(apic_command_high, read_apic(apic_id));
    write_apic(apic_command_low, low_vector);
    let_in();
    check_equal("by its ID", taken, 1);
    write_apic(apic_command_high, 0x01000000);
    write_apic(apic_command_low, 1 << 11 | low_vector);
    let_in();
    check_equal("by its logical destination", taken, 1);
    write_apic(apic_command_high, 0x02000000);
    write_apic(apic_command_low, 1 << 11 | low_vector);
    let_in();
    check_equal("to another's", taken, 0);
    write_apic(apic_command_low, 3 << 18 | low_vector);
    let_in();
    check_equal("to all but itself", taken, 0);
    write_apic(apic_command_low, 2 << 18 | low_vector);
    let_in();
    check_equal("to all", taken, 1);
}

static void check_pins(void) {
    unmask_irq(0);
    request_timer_interrupt();
    let_in();
    check_equal("LINT0: the timer's interrupt passes", taken, 1);
    check_equal("with the vector of the 8259", order[0], first_irq_vector);
    write_apic(apic_task_priority, 0xff);
    request_timer_interrupt();
    let_in();
    check_equal("whatever the priority is", taken, 1);
    write_apic(apic_task_priority, 0);
    write_apic(apic_pin0_vector, apic_masked | apic_external);
    request_timer_interrupt();
    let_in();
    check_equal("LINT0 masked: it waits", taken, 0);
    write_apic(apic_pin0_vector, apic_external);
    let_in();
    check_equal("open again: it comes", taken, 1);
}

void guest(void) {
    load_descriptor_tables();
    load_page_tables();
    map_apic();
    quiet_timer();
    handlers[low_vector] = take;
    handlers[same_class] = take;
    handlers[high_vector] = take;
    handlers[first_irq_vector] = take_irq;
    check_identity();
    check_pins();
    check_registers();
    check_command();
    check_priority();
    check_destinations();
}
