// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/kvm/privileged/machine.hpp"

#include "backends/kvm/privileged/contract/layout.hpp"
#include "monitor/kvm/host.hpp"
#include "monitor/kvm/privileged/features.hpp"
#include "monitor/kvm/report.hpp"

#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sys/eventfd.h>

namespace previrt {

namespace {

using namespace kvm_privileged;

// Old Intel processors keep data for the emulation of real mode here: it is no memory of the guest.
constexpr std::uintptr_t intel_task = 0xfffbd000;

} // namespace

PrivilegedMachine::PrivilegedMachine(const Descriptor& kvm, const PrivilegedImage& image,
                                     const RunOptions& options, std::span<const std::uint8_t> package)
    : network_(open_guest_network(options.net)), disks_(options.disks),
      layout_(lay_out_privileged(image.bytes, options.memory, package.size())), header_(image.header),
      processor_count_(options.cpus), memory_(Mapping::of_guest(layout_.bytes())),
      machine_(kvm_request(kvm, KVM_CREATE_VM, "KVM_CREATE_VM")), events_(make_events()),
      woken_(make_event()) {
    fill_vmm_memory(vmm_memory(), layout_, image, package);
    kvm_request(machine_, KVM_SET_TSS_ADDR, "KVM_SET_TSS_ADDR", intel_task);
    add_memory();
    add_doorbells();
    if (processor_count_ == 1) {
        processor_ = std::make_unique<VirtualProcessor>(kvm, machine_);
        set_features(kvm, processor_->descriptor());
        return;
    }
    controllers_ = std::make_unique<InterruptControllers>(machine_);
    processors_ = std::make_unique<PrivilegedProcessors>(kvm, machine_, processor_count_,
                                                         parts(options.strict), *controllers_, woken_);
}

std::span<std::uint8_t> PrivilegedMachine::vmm_memory() const {
    return memory_.bytes().subspan(layout_.ram_bytes);
}

template <typename Structure>
Structure& PrivilegedMachine::at(std::uint64_t offset) const {
    return *reinterpret_cast<Structure*>(vmm_memory().subspan(offset, sizeof(Structure)).data());
}

void PrivilegedMachine::add_memory() {
    add_kvm_memory(machine_, 0, 0, memory_.bytes().first(layout_.ram_bytes));
    add_kvm_memory(machine_, 1, layout_.physical(0), vmm_memory());
}

void PrivilegedMachine::add_doorbell(std::uint16_t port, const Descriptor& event) {
    kvm_ioeventfd doorbell{};
    doorbell.addr = port;
    doorbell.len = 4;
    doorbell.fd = event.number();
    doorbell.flags = KVM_IOEVENTFD_FLAG_PIO;
    kvm_request(machine_, KVM_IOEVENTFD, "KVM_IOEVENTFD", &doorbell);
}

void PrivilegedMachine::add_doorbells() {
    add_doorbell(port_output, events_.output);
    if (network_) {
        add_doorbell(port_packets, network_->called());
    }
    if (processor_count_ != 1) {
        add_doorbell(port_attention, woken_);
    }
    for (unsigned disk = 0; disk < disks_.count(); ++disk) {
        add_doorbell(port_of_disk(disk), disks_.called(disk));
    }
}

void PrivilegedMachine::write_handover(const KvmTime& time) {
    kvm::Handover handover = make_handover(layout_);
    handover.clock = time;
    if (network_) {
        network_->describe(handover.network);
    }
    disks_.describe(handover.disks);
    handover.processors = processor_count_;
    at<kvm::Handover>(layout_.handover) = handover;
}

PrivilegedParts PrivilegedMachine::parts(bool strict) const {
    return {.ram = memory_.bytes().first(layout_.ram_bytes),
            .header = header_,
            .vmm_root = layout_.physical(layout_.root),
            .map_tables = layout_.map_tables(),
            .mailbox = at<Mailbox>(layout_.mailbox),
            .devices = at<Pc>(layout_.devices),
            .devices_physical = layout_.physical(layout_.devices),
            .output = at<monitored::ConsoleRing>(layout_.output.offset),
            .input = at<monitored::ConsoleRing>(layout_.input.offset),
            .strict = strict};
}

void PrivilegedMachine::start_processors(const RunOptions& options) {
    const auto output_came = [this] { eventfd_write(events_.output.number(), 1); };
    const KvmTime time =
        start_kvm_time(processors_ ? processors_->boot_processor() : processor_->descriptor());
    write_handover(time);
    if (processors_) {
        processors_->start(time, layout_.guest_memory, options.rewrite, output_came);
        guest_ = processors_.get();
    } else {
        only_ = std::make_unique<PrivilegedProcessor>(*processor_, parts(options.strict), time,
                                                      layout_.guest_memory, options.rewrite, output_came);
        guest_ = only_.get();
    }
}

MonitoredEnd PrivilegedMachine::run(const RunOptions& options) {
    if (network_) {
        network_->judge_isolation(options);
    }
    start_processors(options);
    console_ = std::make_unique<MonitoredConsole>(
        options, events_, at<monitored::ConsoleRing>(layout_.output.offset),
        at<monitored::ConsoleRing>(layout_.input.offset), [this] { guest_->input_came(); });
    const PacketThread packets =
        packet_thread(network_, at<kvm::Handover>(layout_.handover).network,
                      {.sent = at<monitored::PacketRing>(layout_.sent.offset),
                       .received = at<monitored::PacketRing>(layout_.received.offset)},
                      [this] { guest_->packets_came(); });
    const std::vector<DiskThread> disks =
        disks_.threads(layout_.disks, vmm_memory(), memory_.bytes().first(layout_.guest_memory),
                       [this] { guest_->packets_came(); },
                       {.group = 0, .event = processor_count_ == 1 ? -1 : woken_.number()});
    MonitoredEnd end = run_with_console(
        options, *console_, events_,
        {.run = [&] { return guest_->run(); }, .stop = [&](pthread_t thread) { guest_->stop(thread); }},
        packets, disks);
    disks_.tell_failures(std::cerr);
    return end;
}

namespace {

nlohmann::json by_name(const std::vector<KvmStat>& stats) {
    nlohmann::json json = nlohmann::json::object();
    for (const KvmStat& stat : stats) {
        json[stat.name] = stat.value;
    }
    return json;
}

} // namespace

nlohmann::json PrivilegedMachine::counts() const {
    nlohmann::json counts{{"kvm", by_name(guest_->read_stats())}, {"post_codes", nlohmann::json::array()}};
    for (const PostCode& post : guest_->post_codes()) {
        counts["post_codes"].push_back({{"code", post.code}, {"kvm", by_name(post.stats)}});
    }
    return counts;
}

void PrivilegedMachine::describe(std::ostream& output) const {
    describe_layout(output, layout_, UserMode::isolated);
    disks_.describe(output);
}

void PrivilegedMachine::describe_end(std::ostream& output) const {
    describe_exits(output, guest_->exits(), guest_->read_stats());
    if (network_) {
        network_->describe_end(output);
    }
    disks_.describe_end(output);
}

} // namespace previrt
