// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/run/kvm_machine.hpp"

#include "backends/kvm/layout.hpp"
#include "toolchain/image/input_error.hpp"
#include "toolchain/run/confinement.hpp"
#include "toolchain/run/kvm_host.hpp"
#include "toolchain/run/kvm_interface.hpp"
#include "toolchain/run/kvm_report.hpp"
#include "toolchain/run/kvm_time.hpp"

#include <cstring>
#include <sys/eventfd.h>

namespace previrt {

namespace {

using namespace kvm;

// Any that is no pin of the interrupt controllers.
constexpr std::uint32_t input_interrupt = 24;

// Where old Intel processors keep what they need to emulate real mode: no memory of the guest's.
constexpr std::uintptr_t intel_task = 0xfffbd000;

} // namespace

KvmMachine::KvmMachine(const Descriptor& kvm, const KvmImage& image, std::uint64_t guest_memory,
                       std::span<const std::uint8_t> package, UserMode user_mode)
    : layout_(lay_out(image.bytes, guest_memory, package.size())), user_mode_(user_mode),
      memory_(Mapping::of_guest(layout_.bytes())), machine_(kvm_request(kvm, KVM_CREATE_VM, "KVM_CREATE_VM")),
      input_(make_event()), events_(make_events()) {
    fill_vmm_memory(vmm_memory(), layout_, image, package);
    kvm_request(machine_, KVM_SET_TSS_ADDR, "KVM_SET_TSS_ADDR", intel_task);
    kvm_request(machine_, KVM_CREATE_IRQCHIP, "KVM_CREATE_IRQCHIP"); // before the processor
    add_memory();
    add_doorbells();
    processor_ = std::make_unique<KvmProcessor>(kvm, machine_);
    processor_->prepare(image.header, layout_.physical(layout_.root), user_mode);
}

std::span<std::uint8_t> KvmMachine::vmm_memory() const {
    return memory_.bytes().subspan(layout_.ram_bytes);
}

ConsoleRing& KvmMachine::ring(const Part& part) const {
    return *reinterpret_cast<ConsoleRing*>(vmm_memory().subspan(part.offset, sizeof(ConsoleRing)).data());
}

void KvmMachine::add_memory() {
    add_kvm_memory(machine_, 0, ram_base, memory_.bytes().first(layout_.ram_bytes));
    add_kvm_memory(machine_, 1, layout_.physical(0), vmm_memory());
}

void KvmMachine::add_doorbells() {
    kvm_ioeventfd output{};
    output.addr = doorbells + doorbell_output;
    output.len = 4;
    output.fd = events_.output.number();
    kvm_request(machine_, KVM_IOEVENTFD, "KVM_IOEVENTFD", &output);

    // One route, and none for the pins: no device of the host's KVM is in use.
    KvmList<kvm_irq_routing> routes(1);
    routes->nr = 1;
    kvm_irq_routing_entry& route = routes->entries[0];
    route.gsi = input_interrupt;
    route.type = KVM_IRQ_ROUTING_MSI;
    route.u.msi.address_lo = static_cast<std::uint32_t>(local_apic); // the first processor's
    route.u.msi.data = event_vector;
    kvm_request(machine_, KVM_SET_GSI_ROUTING, "KVM_SET_GSI_ROUTING", routes.get());
    kvm_irqfd input{};
    input.fd = static_cast<std::uint32_t>(input_.number());
    input.gsi = input_interrupt;
    kvm_request(machine_, KVM_IRQFD, "KVM_IRQFD", &input);
}

void KvmMachine::describe(std::ostream& output) const {
    describe_layout(output, layout_, user_mode_);
}

void KvmMachine::describe_end(std::ostream& output) const {
    describe_exits(output, processor_->exits(), processor_->read_stats());
}

void KvmMachine::write_handover(const RunOptions& options) {
    const KvmTime time = read_kvm_time(processor_->descriptor());
    Handover handover = make_handover(layout_);
    handover.clock = time;
    handover.isolates_user_mode = user_mode_ == UserMode::isolated ? 1 : 0;
    handover.rewrites_user_calls =
        options.rewrite_system_calls && user_mode_ == UserMode::with_kernel ? 1 : 0;
    std::memcpy(vmm_memory().subspan(layout_.handover, sizeof handover).data(), &handover, sizeof handover);
}

MonitoredEnd KvmMachine::run(const RunOptions& options) {
    write_handover(options);
    console_ = std::make_unique<MonitoredConsole>(options, events_, ring(layout_.output), ring(layout_.input),
                                                  [this] { eventfd_write(input_.number(), 1); });
    return run_with_console(options, *console_, events_,
                            {.run =
                                 [&] {
                                     confine_processor_thread(processor_->descriptor().number());
                                     return processor_->run();
                                 },
                             .stop = [&](pthread_t thread) { processor_->stop(thread); }});
}

} // namespace previrt
