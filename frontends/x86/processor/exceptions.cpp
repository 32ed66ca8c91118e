// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/processor/exceptions.hpp"

#include "frontends/x86/paging/guest_memory.hpp"
#include "frontends/x86/processor/descriptors.hpp"
#include "frontends/x86/processor/flags.hpp"
#include "frontends/x86/processor/privilege.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/event_ring.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt {

namespace {

enum class Source : std::uint8_t { exception, external, software };

// The manual's table of double faults: the meaning of a fault during the delivery of another.
bool makes_double_fault(std::uint8_t first, std::uint8_t second) {
    const auto contributory = [](std::uint8_t vector) {
        return vector == divide_error || (vector >= invalid_tss && vector <= general_protection);
    };
    return first == page_fault ? second == page_fault || contributory(second)
                               : contributory(first) && contributory(second);
}

struct Gate {
    std::uint64_t low;
    std::uint64_t high;

    [[nodiscard]] bool present() const { return ((low >> 47U) & 1U) != 0; }
    [[nodiscard]] unsigned privilege() const { return static_cast<unsigned>(low >> 45U) & 3U; }
    [[nodiscard]] unsigned type() const { return static_cast<unsigned>(low >> 40U) & 31U; }
    [[nodiscard]] bool is_interrupt() const { return type() == 14; }
    [[nodiscard]] bool is_gate() const { return type() == 14 || type() == 15; }
    [[nodiscard]] unsigned stack() const { return static_cast<unsigned>(low >> 32U) & 7U; }
    [[nodiscard]] std::uint16_t selector() const { return static_cast<std::uint16_t>(low >> 16U); }
    [[nodiscard]] std::uint64_t offset() const {
        return (low & 0xffffU) | ((low >> 32U) & 0xffff0000U) | (high << 32U);
    }
};

constexpr std::uint32_t in_idt = 2;
constexpr unsigned task_rsp0 = 4;
constexpr unsigned task_ist1 = 36;

// RSP0 or an IST entry of the guest's task state.
bool read_task_stack(unsigned offset, std::uint32_t external, std::uint64_t& stack) {
    if (!vcpu.task.present || offset + sizeof(stack) - 1 > vcpu.task.limit) {
        raise_exception(invalid_tss, selector_error(vcpu.task.selector) | external);
        return false;
    }
    return read_guest(vcpu.task.base + offset, stack);
}

// False: an exception was raised instead.
bool deliver(std::uint8_t vector, bool with_error_code, std::uint32_t error_code, Source source) {
    const std::uint32_t external = source == Source::software ? 0 : 1;
    const std::uint32_t idt_error = (std::uint32_t{vector} * 8) | in_idt;
    Gate gate{};
    const std::uint64_t offset = std::uint64_t{vector} * sizeof(gate);
    if (offset + sizeof(gate) - 1 > vcpu.idt.limit) {
        raise_exception(general_protection, idt_error | external);
        return false;
    }
    if (!read_guest(vcpu.idt.base + offset, gate)) {
        return false;
    }
    if (!gate.is_gate() || (source == Source::software && gate.privilege() < vcpu.cpl)) {
        raise_exception(general_protection, idt_error | external);
        return false;
    }
    if (!gate.present()) {
        raise_exception(segment_not_present, idt_error | external);
        return false;
    }
    Descriptor code{};
    const Lookup lookup = is_null(gate.selector()) ? Lookup::outside : read_descriptor(gate.selector(), code);
    if (lookup == Lookup::faulted) {
        return false;
    }
    if (lookup == Lookup::outside || !code.is_long_code() || code.privilege() > vcpu.cpl) {
        raise_exception(general_protection, selector_error(gate.selector()) | external);
        return false;
    }
    if (!code.present()) {
        raise_exception(segment_not_present, selector_error(gate.selector()) | external);
        return false;
    }
    const unsigned level = code.is_conforming() ? vcpu.cpl : code.privilege();
    if (level != 0) {
        stop_guest("a gate leads to a level other than 0: vector", vector);
    }
    std::uint64_t stack = vcpu.registers.general[rsp];
    if (gate.stack() != 0) {
        if (!read_task_stack(task_ist1 + ((gate.stack() - 1) * 8), external, stack)) {
            return false;
        }
    } else if (vcpu.cpl != level && !read_task_stack(task_rsp0, external, stack)) {
        return false;
    }
    stack &= ~std::uint64_t{15};
    struct Frame {
        std::uint64_t rip;
        std::uint64_t cs;
        std::uint64_t flags;
        std::uint64_t rsp;
        std::uint64_t ss;
    };
    struct FrameWithCode {
        std::uint64_t error_code;
        Frame frame;
    };
    const FrameWithCode frame{.error_code = error_code,
                              .frame = {.rip = vcpu.registers.rip,
                                        .cs = vcpu.cs,
                                        .flags = guest_flags(),
                                        .rsp = vcpu.registers.general[rsp],
                                        .ss = vcpu.ss}};
    stack -= with_error_code ? sizeof(frame) : sizeof(frame.frame);
    if (!is_canonical(stack)) {
        raise_exception(stack_fault, external);
        return false;
    }
    if (with_error_code ? !write_guest(stack, frame) : !write_guest(stack, frame.frame)) {
        return false;
    }
    if (!is_canonical(gate.offset())) {
        raise_exception(general_protection, external);
        return false;
    }
    if (vcpu.cpl != level) {
        vcpu.ss = level;
    }
    set_privilege(level);
    vcpu.cs = (gate.selector() & 0xfffcU) | level;
    vcpu.registers.rip = gate.offset();
    vcpu.registers.general[rsp] = stack;
    const std::uint64_t cleared = flag_trap | flag_nested_task | flag_resume | flag_virtual_8086;
    load_flags(0, cleared | (gate.is_interrupt() ? std::uint64_t{flag_interrupt} : 0));
    vcpu.interrupt_shadow = false;
    ++counters.delivered[vector];
    record_event(Event::delivered, gate.offset(), vector);
    return true;
}

} // namespace

void raise_exception(std::uint8_t vector, std::uint32_t error_code) {
    vcpu.pending = {.raised = true, .vector = vector, .error_code = error_code};
}

void raise_page_fault(std::uint64_t address, std::uint32_t error_code) {
    vcpu.cr2 = address;
    raise_exception(page_fault, error_code);
}

void raise_single_step() {
    vcpu.debug[6] |= debug_single_step;
    raise_exception(debug_exception);
}

bool exception_is_raised() {
    return vcpu.pending.raised;
}

void deliver_raised() {
    while (vcpu.pending.raised) {
        const PendingException now = vcpu.pending;
        vcpu.pending = {};
        if (deliver(now.vector, has_error_code(now.vector), now.error_code, Source::exception)) {
            return;
        }
        if (now.vector == double_fault) {
            stop_guest("a triple fault: the machine would reset; the third exception is vector",
                       vcpu.pending.vector);
        }
        if (makes_double_fault(now.vector, vcpu.pending.vector)) {
            vcpu.pending = {.raised = true, .vector = double_fault, .error_code = 0};
        }
    }
}

void deliver_interrupt(std::uint8_t vector) {
    if (!deliver(vector, false, 0, Source::external)) {
        deliver_raised();
    }
}

void deliver_software_interrupt(std::uint8_t vector) {
    if (!deliver(vector, false, 0, Source::software)) {
        // The instruction faults: int n has not been executed.
        vcpu.registers.rip = vcpu.instruction;
        deliver_raised();
    }
}

} // namespace previrt
