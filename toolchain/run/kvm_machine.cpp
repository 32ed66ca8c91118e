// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/run/kvm_machine.hpp"

#include "backends/kvm/layout.hpp"
#include "toolchain/image/input_error.hpp"
#include "toolchain/run/confinement.hpp"
#include "toolchain/run/console.hpp"
#include "toolchain/run/ending_signals.hpp"
#include "toolchain/run/kvm_host.hpp"
#include "toolchain/run/kvm_interface.hpp"
#include "toolchain/run/kvm_report.hpp"

#include <cerrno>
#include <cstring>
#include <exception>
#include <optional>
#include <sys/eventfd.h>
#include <system_error>
#include <thread>

namespace previrt {

namespace {

using namespace kvm;

// Any that is no pin of the interrupt controllers.
constexpr std::uint32_t input_interrupt = 24;

// Where old Intel processors keep what they need to emulate real mode: no memory of the guest's.
constexpr std::uintptr_t intel_task = 0xfffbd000;

Descriptor make_event() {
    Descriptor event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (event.number() < 0) {
        throw InputError("eventfd: " + std::generic_category().message(errno));
    }
    return event;
}

// What a thread threw is for those who wait for it.
class Outcome {
public:
    template <typename Action>
    void of(const Action& action) noexcept {
        try {
            action();
        } catch (...) {
            error_ = std::current_exception();
        }
    }
    void rethrow() const {
        if (error_) {
            std::rethrow_exception(error_);
        }
    }

private:
    std::exception_ptr error_;
};

} // namespace

KvmMachine::KvmMachine(const Descriptor& kvm, const KvmImage& image, std::uint64_t guest_memory,
                       std::span<const std::uint8_t> package, UserMode user_mode)
    : layout_(lay_out(image.bytes, guest_memory, package.size())), user_mode_(user_mode),
      memory_(Mapping::of_guest(layout_.bytes())), machine_(kvm_request(kvm, KVM_CREATE_VM, "KVM_CREATE_VM")),
      events_{.output = make_event(), .input = make_event(), .ended = make_event()} {
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

Ring& KvmMachine::ring(const Part& part) const {
    return *reinterpret_cast<Ring*>(vmm_memory().subspan(part.offset, sizeof(Ring)).data());
}

void KvmMachine::add_memory() {
    const auto add = [&](std::uint32_t slot, std::uint64_t physical, std::span<std::uint8_t> bytes) {
        kvm_userspace_memory_region region{};
        region.slot = slot;
        region.guest_phys_addr = physical;
        region.memory_size = bytes.size();
        region.userspace_addr = reinterpret_cast<std::uintptr_t>(bytes.data());
        kvm_request(machine_, KVM_SET_USER_MEMORY_REGION, "KVM_SET_USER_MEMORY_REGION", &region);
    };
    add(0, ram_base, memory_.bytes().first(layout_.ram_bytes));
    add(1, layout_.physical(0), vmm_memory());
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
    input.fd = static_cast<std::uint32_t>(events_.input.number());
    input.gsi = input_interrupt;
    kvm_request(machine_, KVM_IRQFD, "KVM_IRQFD", &input);
}

void KvmMachine::describe(std::ostream& output) const {
    describe_layout(output, layout_, user_mode_);
}

void KvmMachine::describe_end(std::ostream& output) const {
    describe_exits(output, processor_->exits(), processor_->read_stats());
}

void KvmMachine::write_handover() {
    const KvmTime time = processor_->read_time();
    Handover handover = make_handover(layout_);
    handover.time_stamp_khz = time.time_stamp_khz;
    handover.epoch_nanoseconds = time.epoch_nanoseconds;
    handover.epoch_time_stamp = time.epoch_time_stamp;
    handover.isolates_user_mode = user_mode_ == UserMode::isolated ? 1 : 0;
    std::memcpy(vmm_memory().subspan(layout_.handover, sizeof handover).data(), &handover, sizeof handover);
}

// The guest's memory is touched by two threads, each confined: one runs the processor, one reads what the
// guest prints. This one only waits for them, as its process may have more to do than this guest.
KvmEnd KvmMachine::run(const RunOptions& options) {
    const Descriptor signals = hold_ending_signals();
    const std::optional<RawTerminal> terminal =
        options.watch_console ? std::optional<RawTerminal>(std::in_place) : std::nullopt;
    console_ = std::make_unique<KvmConsole>(options, events_, ring(layout_.output), ring(layout_.input),
                                            terminal && terminal->active());
    write_handover();

    KvmEnd end;
    Outcome of_processor;
    Outcome of_console;
    std::thread processor([&] {
        of_processor.of([&] {
            confine_processor_thread(processor_->descriptor());
            end.processor = processor_->run();
        });
        eventfd_write(events_.ended.number(), 1);
    });
    of_console.of([&] {
        std::thread([&] {
            of_console.of([&] {
                confine_console_thread();
                end.machine = console_->relay(signals);
            });
        }).join();
    });
    processor_->stop(processor.native_handle());
    processor.join();
    of_processor.rethrow();
    of_console.rethrow();
    return end;
}

} // namespace previrt
