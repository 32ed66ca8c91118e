// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/kvm/machine.hpp"

#include "backends/kvm/deprivileged/contract/layout.hpp"
#include "backends/kvm/deprivileged/contract/level_0_counts.hpp"
#include "host/input_error.hpp"
#include "monitor/kvm/host.hpp"
#include "monitor/kvm/interface.hpp"
#include "monitor/kvm/report.hpp"
#include "monitor/kvm/time.hpp"
#include "monitor/profile/counts_json.hpp"

#include <atomic>
#include <iostream>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

namespace previrt {

namespace {

using namespace kvm;

// Old Intel processors keep data for the emulation of real mode here: it is no memory of the guest.
constexpr std::uintptr_t intel_task = 0xfffbd000;

ProcessorPages pages_of(const ImageHeader& header, unsigned processors) {
    return {.processors = processors,
            .first = (header.processor_start - image_address) / page_size,
            .memory = {.own_bytes = header.processor_end - header.processor_start}};
}

} // namespace

KvmMachine::KvmMachine(const Descriptor& kvm, const KvmImage& image, const RunOptions& options,
                       std::span<const std::uint8_t> package, UserMode user_mode)
    : network_(open_guest_network(options.net, options.command.empty())), folders_(options),
      disks_(options.disks), ports_(options),
      layout_(lay_out(image.bytes, options.memory, package.size(), pages_of(image.header, options.cpus))),
      user_mode_(user_mode), file_(folders_.count() != 0 ? memfd_create("previrt-guest", MFD_CLOEXEC) : -1),
      memory_(file_.number() >= 0 ? Mapping::of_guest(layout_.bytes(), file_)
                                  : Mapping::of_guest(layout_.bytes())),
      machine_(kvm_request(kvm, KVM_CREATE_VM, "KVM_CREATE_VM")),
      event_word_(image.header.event_word - image_address),
      instruction_counts_(image.instruction_counts_offset()), events_(make_events()), called_(make_event()) {
    folders_.share({.file = file_.number(), .offset = 0, .bytes = layout_.guest_memory});
    fill_vmm_memory(vmm_memory(), layout_, image, package);
    kvm_request(machine_, KVM_SET_TSS_ADDR, "KVM_SET_TSS_ADDR", intel_task);
    kvm_request(machine_, KVM_CREATE_IRQCHIP, "KVM_CREATE_IRQCHIP"); // must precede the processor
    add_memory();
    add_doorbells();
    add_calls();
    processors_ = std::make_unique<KvmProcessors>(kvm, machine_, options.cpus);
    processors_->prepare(image.header, layout_, user_mode);
}

std::span<std::uint8_t> KvmMachine::vmm_memory() const {
    return memory_.bytes().subspan(layout_.ram_bytes);
}

template <typename Ring>
Ring& KvmMachine::ring(const Part& part) const {
    return *reinterpret_cast<Ring*>(vmm_memory().subspan(part.offset, sizeof(Ring)).data());
}

void KvmMachine::add_memory() {
    add_kvm_memory(machine_, 0, ram_base, memory_.bytes().first(layout_.ram_bytes));
    add_kvm_memory(machine_, 1, layout_.physical(0), vmm_memory());
}

void KvmMachine::add_doorbell(std::uint64_t which, const Descriptor& event) {
    kvm_ioeventfd doorbell{};
    doorbell.addr = doorbells + which;
    doorbell.len = 4;
    doorbell.fd = event.number();
    kvm_request(machine_, KVM_IOEVENTFD, "KVM_IOEVENTFD", &doorbell);
}

void KvmMachine::add_doorbells() {
    add_doorbell(doorbell_output, events_.output);
    if (network_) {
        add_doorbell(doorbell_packets, network_->called());
    }
    for (unsigned disk = 0; disk < disks_.count(); ++disk) {
        add_doorbell(doorbell_of_disk(disk), disks_.called(disk));
    }
    for (unsigned folder = 0; folder < folders_.count(); ++folder) {
        for (unsigned queue = 0; queue < backend::most_folder_queues; ++queue) {
            add_doorbell(doorbell_of_folder(folder, queue), folders_.kicked(folder, queue));
        }
    }
    if (folders_.count() != 0) {
        add_doorbell(doorbell_folders, folders_.called());
    }
    if (!ports_.empty()) {
        add_doorbell(doorbell_console_ports, ports_.called());
    }
}

void KvmMachine::add_calls() const {
    constexpr std::uint32_t line = 0;
    constexpr std::uint32_t to_boot_processor = 0xfee00000;
    KvmList<kvm_irq_routing> routing(1);
    routing->nr = 1;
    routing->entries[0].gsi = line;
    routing->entries[0].type = KVM_IRQ_ROUTING_MSI;
    routing->entries[0].u.msi.address_lo = to_boot_processor;
    routing->entries[0].u.msi.data = event_vector;
    kvm_request(machine_, KVM_SET_GSI_ROUTING, "KVM_SET_GSI_ROUTING", routing.get());
    kvm_irqfd call{};
    call.fd = static_cast<std::uint32_t>(called_.number());
    call.gsi = line;
    kvm_request(machine_, KVM_IRQFD, "KVM_IRQFD", &call);
}

void KvmMachine::describe(std::ostream& output) const {
    describe_layout(output, layout_, user_mode_);
    disks_.describe(output);
    folders_.describe(output);
    ports_.describe(output);
}

void KvmMachine::describe_end(std::ostream& output) const {
    describe_exits(output, processors_->exits(), processors_->read_stats());
    if (network_) {
        network_->describe_end(output);
    }
    disks_.describe_end(output);
}

Handover& KvmMachine::handover() const {
    return *reinterpret_cast<Handover*>(vmm_memory().subspan(layout_.handover, sizeof(Handover)).data());
}

void KvmMachine::write_handover(const RunOptions& options) {
    const KvmTime time = start_kvm_time(processors_->boot_processor().descriptor());
    Handover& handover = this->handover();
    handover = make_handover(layout_);
    handover.clock = time;
    handover.stolen_times = processors_->show_stolen_times(layout_) ? layout_.stolen_times : Part{};
    if (network_) {
        network_->describe(handover.network);
    }
    disks_.describe(handover.disks);
    folders_.describe(handover.folders);
    if (channel_) {
        GuestChannel::describe(handover.vsock);
    }
    ports_.describe(handover.console_ports);
    handover.isolates_user_mode = user_mode_ == UserMode::isolated ? 1 : 0;
    handover.rewrites_user_calls =
        options.rewrite_system_calls && user_mode_ == UserMode::with_kernel ? 1 : 0;
}

std::uint32_t& KvmMachine::event_word() const {
    return *reinterpret_cast<std::uint32_t*>(vmm_memory().subspan(event_word_, sizeof(std::uint32_t)).data());
}

std::optional<CountsMemory> KvmMachine::counts_memory() const {
    if (!instruction_counts_) {
        return std::nullopt;
    }
    return CountsMemory(vmm_memory().subspan(*instruction_counts_), level_0_call_names);
}

nlohmann::json KvmMachine::counts() const {
    const std::optional<CountsMemory> counts = counts_memory();
    return counts ? counts_to_json(counts->read()) : nlohmann::json::object();
}

void KvmMachine::call() const {
    if ((std::atomic_ref(event_word()).fetch_or(event_call) & event_call) == 0) {
        eventfd_write(called_.number(), 1);
    }
}

MonitoredEnd KvmMachine::run(const RunOptions& options) {
    if (network_) {
        network_->judge_isolation(options);
    }
    channel_ = open_guest_channel(options);
    if (channel_) {
        add_doorbell(doorbell_vsock, channel_->called());
    }
    write_handover(options);
    const auto call_guest = [this] { call(); };
    console_ = std::make_unique<MonitoredConsole>(options, events_, ring<ConsoleRing>(layout_.output),
                                                  ring<ConsoleRing>(layout_.input), call_guest);
    console_->serve(counts_memory());
    const PacketThread packets = packet_thread(network_, handover().network,
                                               {.sent = ring<monitored::PacketRing>(layout_.sent),
                                                .received = ring<monitored::PacketRing>(layout_.received)},
                                               call_guest);
    const std::vector<DiskThread> disks =
        disks_.threads(layout_.disks, vmm_memory(), memory_.bytes().first(layout_.guest_memory), call_guest,
                       {.group = 0, .event = called_.number()});
    MonitoredEnd end = run_with_console(
        options, *console_, events_,
        {.run =
             [&] {
                 return processors_->run(memory_.bytes(),
                                         file_.number() >= 0 ? Backing::shared : Backing::own, events_.ended);
             },
         .stop = [&](pthread_t) { processors_->stop(); }},
        packets, disks,
        channel_thread(channel_.get(),
                       {.sent = ring<monitored::PacketRing>(layout_.vsock.sent),
                        .received = ring<monitored::PacketRing>(layout_.vsock.received)},
                       call_guest),
        folders_.thread(layout_.folders, vmm_memory(), call_guest),
        ports_.thread({.sent = ring<monitored::PacketRing>(layout_.console_ports.sent),
                       .received = ring<monitored::PacketRing>(layout_.console_ports.received)},
                      call_guest));
    disks_.tell_failures(std::cerr);
    return end;
}

} // namespace previrt
