// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/kvm/privileged/interrupt_controllers.hpp"

#include "devices/local_apic/apic_registers.hpp"
#include "devices/platform/pc.hpp"
#include "monitor/kvm/host.hpp"
#include "monitor/kvm/interface.hpp"

#include <cstring>
#include <utility>

namespace previrt {

namespace {

constexpr unsigned isa_lines = 16;
constexpr unsigned lines_of_8259 = 8;

void add_route(kvm_irq_routing& routing, unsigned line, unsigned controller, unsigned pin) {
    kvm_irq_routing_entry& entry = routing.entries[routing.nr++];
    entry.gsi = line;
    entry.type = KVM_IRQ_ROUTING_IRQCHIP;
    entry.u.irqchip.irqchip = controller;
    entry.u.irqchip.pin = pin;
}

// Each line leads to a pin of the 8259s and to one of the I/O APIC.
void connect_lines(const Descriptor& machine) {
    KvmList<kvm_irq_routing> routing(std::size_t{2} * isa_lines);
    for (unsigned line = 0; line < isa_lines; ++line) {
        if (line == Pc::cascade_irq) {
            continue;
        }
        add_route(*routing.get(), line, line < lines_of_8259 ? KVM_IRQCHIP_PIC_MASTER : KVM_IRQCHIP_PIC_SLAVE,
                  line % lines_of_8259);
        add_route(*routing.get(), line, KVM_IRQCHIP_IOAPIC, Pc::io_apic_pin(line));
    }
    kvm_request(machine, KVM_SET_GSI_ROUTING, "KVM_SET_GSI_ROUTING", routing.get());
}

} // namespace

InterruptControllers::InterruptControllers(const Descriptor& machine) : machine_(machine) {
    kvm_request(machine, KVM_CREATE_IRQCHIP, "KVM_CREATE_IRQCHIP");
    connect_lines(machine);
}

void InterruptControllers::set_line(unsigned line, bool asserted) {
    kvm_irq_level level{};
    level.irq = line;
    level.level = asserted ? 1 : 0;
    kvm_request(machine_, KVM_IRQ_LINE, "KVM_IRQ_LINE", &level);
}

void InterruptControllers::set_lines(std::uint32_t lines, std::uint32_t rises) {
    const std::lock_guard guard(mutex_);
    const std::uint32_t before = std::exchange(lines_, lines);
    for (unsigned line = 0; line < isa_lines; ++line) {
        const std::uint32_t bit = 1U << line;
        const bool asserted = (lines & bit) != 0;
        const bool has_changed = ((before ^ lines) & bit) != 0;
        if (line == Pc::cascade_irq || (!has_changed && (rises & bit) == 0)) {
            continue;
        }
        if (!has_changed) {
            set_line(line, !asserted);
        }
        set_line(line, asserted);
    }
}

void start_boot_apic(const Descriptor& processor) {
    kvm_lapic_state state{};
    kvm_request(processor, KVM_GET_LAPIC, "KVM_GET_LAPIC", &state);
    const auto set = [&](ApicOffset offset, std::uint32_t value) {
        std::memcpy(&state.regs[offset], &value, sizeof value);
    };
    constexpr std::uint32_t all_vectors = 0xff;
    set(apic_spurious_vector, spurious_vector_on | all_vectors);
    set(apic_pin0_vector, deliver_external);
    set(apic_pin1_vector, deliver_nmi);
    kvm_request(processor, KVM_SET_LAPIC, "KVM_SET_LAPIC", &state);
}

} // namespace previrt
