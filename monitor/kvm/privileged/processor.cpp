// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/kvm/privileged/processor.hpp"

#include "backends/kvm/privileged/contract/layout.hpp"
#include "frontends/x86/devices/port_access.hpp"
#include "host/input_error.hpp"
#include "monitor/guest/confinement.hpp"
#include "monitor/guest/kick_signal.hpp"
#include "monitor/kvm/privileged/last_directory.hpp"
#include "monitor/kvm/privileged/vmm_requests.hpp"
#include "toolchain/image/places.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <utility>

namespace previrt {

namespace {

using namespace kvm_privileged;

constexpr std::uint16_t post_port = 0x80;

} // namespace

PrivilegedProcessor::PrivilegedProcessor(VirtualProcessor& processor, const PrivilegedParts& parts,
                                         const KvmTime& epoch, std::uint64_t guest_memory, bool rewrite,
                                         std::function<void()> output_came)
    : processor_(processor), questions_(processor, parts.mailbox, parts.header, parts.vmm_root, stopped_),
      parts_(parts), clock_(processor.descriptor(), epoch), epoch_(epoch.epoch_nanoseconds),
      guest_memory_(guest_memory), rewrite_(rewrite), output_came_(std::move(output_came)),
      own_devices_(parts.output, parts.input, output_came_),
      own_accesses_(own_devices_, parts.strict, [this] { return clock_.now(); }),
      vmm_devices_(parts.mailbox, parts.input), stats_(processor.descriptor()),
      is_emulated_(has_emulated_processor()) {
    receive_calling_signals();
}

Devices& PrivilegedProcessor::devices() {
    if (vmm_is_active_) {
        return vmm_devices_;
    }
    return own_devices_;
}

std::uint64_t PrivilegedProcessor::now() {
    if (vmm_is_active_) {
        clock_.follow(parts_.mailbox.looked_at);
    }
    return clock_.now();
}

void PrivilegedProcessor::stop(pthread_t thread) {
    stopped_ = true;
    pthread_kill(thread, calling_signal());
}

void PrivilegedProcessor::input_came() {
    if (runs_) {
        pthread_kill(thread_, calling_signal());
    }
}

void PrivilegedProcessor::packets_came() {
    packets_came_ = true;
    input_came();
}

void PrivilegedProcessor::fail(const std::string& reason) const {
    throw InputError(reason + processor_.place());
}

ProcessorEnd PrivilegedProcessor::run() {
    processor_.let_signal_in(calling_signal());
    alarm_ = std::make_unique<AlarmClock>(calling_signal());
    thread_ = pthread_self();
    runs_ = true;
    confine_privileged_processor_thread(processor_.descriptor().number());
    try {
        const std::uint64_t start = clock_.now();
        own_devices_.start(epoch_ + start, guest_memory_, start);
        bool lives = questions_.load();
        while (lives && !stopped_) {
            lives = move_packets();
            if (!lives) {
                break;
            }
            const std::uint64_t now = this->now();
            prepare_interrupt(now);
            set_alarm(now);
            if (processor_.run()) {
                lives = judge_exit();
            }
        }
        runs_ = false;
        call_reader();
        return {.guest_rang = !lives, .failure = {}};
    } catch (const InputError& error) {
        runs_ = false;
        return {.guest_rang = false, .failure = error.what()};
    }
}

// Only when the guest could take an interrupt: then it is not in the VMM, whose stack a question uses.
bool PrivilegedProcessor::move_packets() {
    const kvm_run& exit = processor_.exit();
    if (!vmm_is_active_ || answer_ || exit.ready_for_interrupt_injection == 0 ||
        !packets_came_.exchange(false)) {
        return true;
    }
    return ask(Question::packets);
}

void PrivilegedProcessor::prepare_interrupt(std::uint64_t now) {
    devices().look(now);
    kvm_run& exit = processor_.exit();
    // A read that was undone and answered runs again first.
    const bool requested = devices().interrupt_requested() && !answer_;
    const bool packets = vmm_is_active_ && packets_came_ && !answer_;
    const bool ready = exit.ready_for_interrupt_injection != 0;
    if (requested && ready) {
        pass_halt();
        processor_.interrupt(devices().acknowledge());
    }
    exit.request_interrupt_window = (requested && !ready) || packets ? 1 : 0;
    parts_.mailbox.waits_for_window = exit.request_interrupt_window;
}

// QEMU's emulated VMRUN forgets that no interrupt comes between STI and the instruction behind it. Taken in
// front of the HLT there, an interrupt would not end it, and the guest might sleep for ever. An interrupt
// that comes as soon as HLT has begun is as right.
void PrivilegedProcessor::pass_halt() {
    if (!is_emulated_ || processor_.exit().exit_reason == KVM_EXIT_HLT) {
        return;
    }
    kvm_regs registers = processor_.registers();
    const std::uint64_t length = halt_length(registers.rip);
    if (length != 0) {
        registers.rip += length;
        processor_.set_registers(registers);
    }
}

// The length of the HLT at this virtual address, with the prefixes that pad a site; 0: there is none.
std::uint64_t PrivilegedProcessor::halt_length(std::uint64_t address) const {
    constexpr std::uint64_t longest_instruction = 15;
    constexpr std::uint8_t padding = 0x2e;
    constexpr std::uint8_t halt_opcode = 0xf4;
    for (std::uint64_t length = 1; length <= longest_instruction; ++length) {
        const std::optional<std::uint64_t> place = processor_.translate(address + length - 1);
        if (!place || *place >= parts_.ram.size()) {
            return 0;
        }
        const std::uint8_t byte = parts_.ram[*place];
        if (byte != padding) {
            return byte == halt_opcode ? length : 0;
        }
    }
    return 0;
}

void PrivilegedProcessor::set_alarm(std::uint64_t now) {
    if (parts_.mailbox.output_deadline <= now) {
        call_reader();
    }
    const std::uint64_t deadline = std::min(devices().deadline(now), parts_.mailbox.output_deadline);
    // The alarm uses another clock than the guest: it may have rung too early.
    const bool may_have_rung = processor_.signal_came();
    if (deadline == parts_.mailbox.timer && deadline > now && !may_have_rung) {
        return; // it is set to this time already
    }
    alarm_->set(deadline == never ? std::nullopt
                                  : std::optional(deadline > now ? deadline - now : std::uint64_t{1}));
    parts_.mailbox.timer = deadline;
}

void PrivilegedProcessor::call_reader() {
    if (parts_.mailbox.output_deadline != never) {
        parts_.mailbox.output_deadline = never;
        output_came_();
    }
}

// False: the guest has ended.
bool PrivilegedProcessor::halt() {
    call_reader();
    while (!stopped_) {
        if (!move_packets()) {
            return false;
        }
        const std::uint64_t now = this->now();
        devices().look(now);
        if (devices().interrupt_requested()) {
            return true;
        }
        set_alarm(now);
        processor_.wait();
    }
    return true;
}

bool PrivilegedProcessor::judge_exit() {
    const kvm_run& exit = processor_.exit();
    ++exits_[exit.exit_reason];
    switch (exit.exit_reason) {
    case KVM_EXIT_INTR:
    case KVM_EXIT_IRQ_WINDOW_OPEN:
    case KVM_EXIT_SET_TPR: // CR8 of an APIC that is not there
        return true;
    case KVM_EXIT_IO:
        return access_ports();
    case KVM_EXIT_HLT:
        if (exit.if_flag == 0) {
            return ask(Question::halt); // nothing can wake the guest
        }
        return halt();
    case KVM_EXIT_MMIO:
        return access_memory();
    case KVM_EXIT_SHUTDOWN:
        fail("a triple fault");
    case KVM_EXIT_FAIL_ENTRY:
        fail("its state is refused (" + hex(exit.fail_entry.hardware_entry_failure_reason) + ")");
    case KVM_EXIT_INTERNAL_ERROR:
        fail("an internal error of KVM (" + std::to_string(exit.internal.suberror) + ")");
    default:
        fail("an exit for reason " + std::to_string(exit.exit_reason));
    }
}

bool PrivilegedProcessor::ask(Question question) {
    return questions_.ask(question);
}

// An access by an instruction that is no site: the VMM does it. No question is possible within an
// instruction, so a read is undone, and runs again when the answer is known.
bool PrivilegedProcessor::access_memory() {
    auto& mmio = processor_.exit().mmio;
    const bool is_write = mmio.is_write != 0;
    if (!vmm_is_active_) {
        own_accesses_.access_memory(processor_);
        return true;
    }
    if (mmio.len > sizeof(std::uint64_t)) {
        fail(std::string(is_write ? "a write to" : "a read from") + " physical address " +
             hex(mmio.phys_addr) + ", where nothing is,");
    }
    const std::uint64_t address = mmio.phys_addr;
    const std::optional<Answer> answer = std::exchange(answer_, {});
    if (!is_write && answer && answer->address == address) {
        std::memcpy(&mmio.data[0], &answer->value, sizeof answer->value);
        return processor_.try_to_finish_instruction() || access_memory();
    }
    Mailbox& mailbox = parts_.mailbox;
    mailbox.address = address;
    mailbox.width = mmio.len;
    mailbox.value = 0;
    if (is_write) {
        std::memcpy(&mailbox.value, &mmio.data[0], mmio.len);
        processor_.finish_instruction();
        return ask(Question::write_memory);
    }
    processor_.undo_instruction();
    if (!ask(Question::read_memory)) {
        return false;
    }
    answer_ = {.address = address, .value = mailbox.value};
    return true;
}

bool PrivilegedProcessor::access_ports() {
    const std::span<std::uint8_t> data = processor_.port_data();
    const auto io = processor_.exit().io;
    if (io.port == port_request && io.direction == KVM_EXIT_IO_OUT &&
        processor_.registers().rip >= image_address) {
        return serve_request();
    }
    if (io.port == post_port && io.direction == KVM_EXIT_IO_OUT) {
        note_post_code(data);
    }
    if (vmm_is_active_) {
        return access_vmm(data);
    }
    return access_own() && activate_if_possible();
}

void PrivilegedProcessor::note_post_code(std::span<const std::uint8_t> data) {
    constexpr std::size_t most = 1000;
    constexpr std::uint8_t user_mode = 3; // the kernel writes this port as a delay
    if (processor_.system_registers().cs.dpl != user_mode) {
        return;
    }
    if (!data.empty() && post_codes_.size() < most) {
        post_codes_.push_back({.code = data.front(), .stats = stats_.read()});
    }
}

bool PrivilegedProcessor::access_own() {
    if (own_accesses_.access_ports(processor_) && own_devices_.reset_requested()) {
        processor_.finish_instruction();
        return ask(Question::reset);
    }
    return true;
}

// An access by an instruction that is no site: the VMM does it.
bool PrivilegedProcessor::access_vmm(std::span<std::uint8_t> data) {
    const auto io = processor_.exit().io;
    if (io.count != 1 || data.size() != io.size) {
        fail("a string of accesses to port " + hex(io.port) + " by an instruction that is no site,");
    }
    Mailbox& mailbox = parts_.mailbox;
    mailbox.address = io.port;
    mailbox.width = io.size;
    mailbox.value = 0;
    const bool is_write = io.direction == KVM_EXIT_IO_OUT;
    if (is_write) {
        std::memcpy(&mailbox.value, data.data(), io.size);
    }
    processor_.finish_instruction();
    if (!ask(is_write ? Question::write_port : Question::read_port)) {
        return false;
    }
    if (!is_write) {
        kvm_regs registers = processor_.registers();
        registers.rax =
            accumulator_after_in(registers.rax, static_cast<std::uint32_t>(mailbox.value), io.size);
        processor_.set_registers(registers);
    }
    return true;
}

bool PrivilegedProcessor::serve_request() {
    const PortRequest request = request_of_exit(processor_);
    switch (request) {
    case PortRequest::attention:
        return true;
    case PortRequest::ended:
        return false;
    case PortRequest::release:
        give_pages_back(parts_, processor_);
        return true;
    case PortRequest::announcement: {
        processor_.finish_instruction();
        kvm_regs registers = processor_.registers();
        parts_.mailbox.announcement = announcement_in(registers);
        if (!ask(Question::announce)) {
            return false;
        }
        registers.rax = parts_.mailbox.value;
        processor_.set_registers(registers);
        return true;
    }
    case PortRequest::answer:
    case PortRequest::lines:
        break;
    }
    fail("the VMM asks for " + std::to_string(static_cast<std::uint32_t>(request)) + ", which is nothing");
}

// When Linux first accesses its devices, its page tables already have the directory that all of them share.
bool PrivilegedProcessor::activate_if_possible() {
    if (!rewrite_ || !last_directory_has_room(parts_.ram, processor_.system_registers(), parts_.map_tables)) {
        return true;
    }
    processor_.finish_instruction();
    own_devices_.look(clock_.now());
    std::memcpy(static_cast<void*>(&parts_.devices), &own_devices_.state(), sizeof(Pc));
    parts_.mailbox.devices = parts_.devices_physical;
    parts_.mailbox.timer = never;
    parts_.mailbox.delivered = Cause::none;
    vmm_is_active_ = true;
    return ask(Question::activate);
}

} // namespace previrt
