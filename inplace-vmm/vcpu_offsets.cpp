// SPDX-License-Identifier: BSD-2-Clause
// Compiled to assembly, not linked: the build makes vcpu_offsets.h from the marked lines.
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/event_ring.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt {

#define CONSTANT(name, value) asm volatile(".ascii \"#define " #name " %c0\"" : : "i"(value))
#define OFFSET_IN(type, name, member) CONSTANT(name, offsetof(type, member))
#define OFFSET(name, member) OFFSET_IN(Vcpu, name, member)

void offsets() {
    OFFSET(VCPU_RAX, registers.general[0]);
    OFFSET(VCPU_RCX, registers.general[1]);
    OFFSET(VCPU_RDX, registers.general[2]);
    OFFSET(VCPU_RBX, registers.general[3]);
    OFFSET(VCPU_RSP, registers.general[4]);
    OFFSET(VCPU_RBP, registers.general[5]);
    OFFSET(VCPU_RSI, registers.general[6]);
    OFFSET(VCPU_RDI, registers.general[7]);
    OFFSET(VCPU_R8, registers.general[8]);
    OFFSET(VCPU_R9, registers.general[9]);
    OFFSET(VCPU_R10, registers.general[10]);
    OFFSET(VCPU_R11, registers.general[11]);
    OFFSET(VCPU_R12, registers.general[12]);
    OFFSET(VCPU_R13, registers.general[13]);
    OFFSET(VCPU_R14, registers.general[14]);
    OFFSET(VCPU_R15, registers.general[15]);
    OFFSET(VCPU_RIP, registers.rip);
    OFFSET(VCPU_RFLAGS, registers.rflags);
    OFFSET(VCPU_CS, cs);
    OFFSET(VCPU_SS, ss);
    OFFSET(VCPU_CPL, cpl);
    OFFSET(VCPU_GS_EXCHANGED, gs_exchanged);
    OFFSET(VCPU_INTERRUPT_FLAG, interrupt_flag);
    OFFSET(VCPU_GDT_BASE, gdt.base);
    OFFSET(VCPU_LSTAR, lstar);
    OFFSET(VCPU_SYSTEM_FLAGS, system_flags);
    OFFSET(VCPU_EVENTS_HELD, events_held);
    OFFSET(VCPU_KERNEL_SELECTORS, kernel_selector);
    OFFSET(VCPU_USER_GS_BASE, user_gs_base);
    OFFSET(VCPU_KERNEL_GS_BASE, kernel_gs_base);
    OFFSET_IN(Counters, COUNTERS_SYSTEM_CALLS, system_calls);
    OFFSET_IN(Counters, COUNTERS_USER_RETURNS, user_returns);
    OFFSET_IN(EventRing, EVENT_RING_NEXT, next);
    OFFSET_IN(EventRing, EVENT_RING_FIRST, events[0].first);
    OFFSET_IN(EventRing, EVENT_RING_SECOND, events[0].second);
    OFFSET_IN(EventRing, EVENT_RING_EVENT, events[0].event);
    CONSTANT(EVENT_RING_MASK, EventRing::length - 1);
    CONSTANT(EVENT_BYTES, sizeof(RecordedEvent));
    CONSTANT(EVENT_SYSCALL, static_cast<int>(Event::syscall));
}

} // namespace previrt
