// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/kvm/privileged/guest_processor.hpp"

#include "backends/kvm/privileged/contract/layout.hpp"
#include "host/input_error.hpp"
#include "monitor/guest/kick_signal.hpp"
#include "monitor/kvm/privileged/features.hpp"
#include "monitor/kvm/privileged/vmm_requests.hpp"
#include "monitor/kvm/time.hpp"
#include "toolchain/image/places.hpp"

#include <optional>

namespace previrt {

using namespace kvm_privileged;

GuestProcessor::GuestProcessor(const Descriptor& kvm, const Descriptor& machine, unsigned number,
                               const PrivilegedParts& parts, InterruptControllers& controllers,
                               ProcessorSurvey& survey)
    : processor_(kvm, machine, number), number_(number), parts_(parts), controllers_(controllers),
      survey_(survey), stats_(processor_.descriptor()), is_emulated_(has_emulated_processor()) {
    set_features_of_several(kvm, processor_.descriptor(), number);
    if (number == Pc::boot_processor) {
        start_boot_apic(processor_.descriptor());
    } else {
        set_rate_of_host(processor_.descriptor()); // the boot processor's comes with the time
    }
}

void GuestProcessor::begin() {
    processor_.let_signal_in(calling_signal());
    thread_.begin();
}

void GuestProcessor::end() {
    thread_.end();
    survey_.answer(number_, ProcessorSurvey::Activity::executes);
}

void GuestProcessor::fail(const std::string& reason) const {
    throw InputError(reason + processor_.place());
}

bool GuestProcessor::run(SharedDevices& devices, VmmProcessor& vmm) {
    const bool exited = processor_.run();
    if (survey_.asks(number_)) {
        survey_.answer(number_, activity());
    }
    return !exited || judge_exit(devices, vmm);
}

// A processor that KVM leaves in HLT is behind it.
ProcessorSurvey::Activity GuestProcessor::activity() const {
    constexpr std::uint64_t interrupts_enabled = 0x200;
    const std::uint32_t state = processor_.state();
    if (state == KVM_MP_STATE_UNINITIALIZED || state == KVM_MP_STATE_INIT_RECEIVED) {
        return ProcessorSurvey::Activity::waits_for_start;
    }
    const kvm_regs registers = processor_.registers();
    const bool halts = state == KVM_MP_STATE_HALTED || (is_emulated_ && is_behind_halt(registers.rip));
    return halts && (registers.rflags & interrupts_enabled) == 0 ? ProcessorSurvey::Activity::has_halted
                                                                 : ProcessorSurvey::Activity::executes;
}

// On an emulated processor HLT does not exit: see PrivilegedProcessors.
bool GuestProcessor::is_behind_halt(std::uint64_t rip) const {
    constexpr std::uint8_t halt_opcode = 0xf4;
    const std::optional<std::uint64_t> place = processor_.translate(rip - 1);
    return place && *place < parts_.ram.size() && parts_.ram[*place] == halt_opcode;
}

bool GuestProcessor::judge_exit(SharedDevices& devices, VmmProcessor& vmm) {
    const kvm_run& exit = processor_.exit();
    ++exits_[exit.exit_reason];
    switch (exit.exit_reason) {
    case KVM_EXIT_INTR:
        return true;
    case KVM_EXIT_IO:
        return access_ports(devices, vmm);
    case KVM_EXIT_MMIO:
        return devices.access_memory(processor_);
    case KVM_EXIT_SHUTDOWN:
        fail("a triple fault of processor " + std::to_string(number_));
    case KVM_EXIT_FAIL_ENTRY:
        fail("its state is refused (" + hex(exit.fail_entry.hardware_entry_failure_reason) + ")");
    case KVM_EXIT_INTERNAL_ERROR:
        fail("an internal error of KVM (" + std::to_string(exit.internal.suberror) + ")");
    default:
        fail("an exit for reason " + std::to_string(exit.exit_reason));
    }
}

bool GuestProcessor::access_ports(SharedDevices& devices, VmmProcessor& vmm) {
    const auto io = processor_.exit().io;
    if (io.port == port_request && io.direction == KVM_EXIT_IO_OUT &&
        processor_.registers().rip >= image_address) {
        return serve_request(vmm);
    }
    return devices.access_ports(processor_);
}

bool GuestProcessor::serve_request(VmmProcessor& vmm) {
    const PortRequest request = request_of_exit(processor_);
    switch (request) {
    case PortRequest::lines:
        controllers_.set_lines(parts_.mailbox.lines, parts_.mailbox.rises);
        return true;
    case PortRequest::ended:
        return false;
    case PortRequest::release:
        give_pages_back(parts_, processor_);
        return true;
    case PortRequest::announcement: {
        processor_.finish_instruction();
        kvm_regs registers = processor_.registers();
        const std::optional<std::uint64_t> answer = vmm.ask({.question = Question::announce,
                                                             .asker = processor_.system_registers(),
                                                             .announcement = announcement_in(registers)});
        registers.rax = answer.value_or(0);
        processor_.set_registers(registers);
        return answer.has_value();
    }
    default:
        break;
    }
    fail("the VMM asks for " + std::to_string(static_cast<std::uint32_t>(request)) + ", which is nothing");
}

} // namespace previrt
