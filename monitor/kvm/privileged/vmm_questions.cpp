// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/kvm/privileged/vmm_questions.hpp"

#include "monitor/kvm/privileged/vmm_requests.hpp"
#include "monitor/kvm/segments.hpp"

#include <optional>

namespace previrt {

namespace {

using namespace kvm_privileged;

constexpr std::uint64_t paging = 0x80010033; // PG, WP, NE, ET, MP, PE
constexpr std::uint64_t boot_paging = 0x80000031;
constexpr std::uint64_t physical_address_extension = 0x20;
constexpr std::uint64_t process_context = 0x20000;
constexpr std::uint64_t no_execute = 0x800;
constexpr std::uint64_t long_mode = 0x500; // LMA, LME
// In no descriptor table: the VMM loads none.
constexpr std::uint16_t vmm_code = 0x10;
constexpr std::uint16_t vmm_data = 0x18;

void set_segments(kvm_sregs& state, std::uint16_t code, std::uint16_t data) {
    state.cs = code_segment(code, 0);
    state.ss = state.ds = state.es = data_segment(data, 0);
}

} // namespace

void enter_vmm(VirtualProcessor& processor, const ImageHeader& header, std::uint64_t root,
               const kvm_sregs& guest) {
    kvm_sregs state = guest;
    state.cr0 = paging;
    state.cr3 = root;
    state.cr4 = (guest.cr4 | physical_address_extension) & ~process_context;
    state.efer = guest.efer | long_mode | no_execute;
    set_segments(state, vmm_code, vmm_data);
    processor.set_system_registers(state);
    kvm_regs registers{};
    registers.rip = header.entry;
    registers.rsp = header.stack_top;
    registers.rflags = 2;
    processor.set_registers(registers);
}

void describe_asker(Mailbox& mailbox, const kvm_sregs& guest) {
    mailbox.cr0 = guest.cr0;
    mailbox.cr3 = guest.cr3;
    mailbox.cr4 = guest.cr4;
    mailbox.efer = guest.efer;
    mailbox.privilege_level = guest.ss.dpl;
}

void begin_guest(VirtualProcessor& processor, const BootState& boot) {
    kvm_sregs state = processor.system_registers();
    state.cr0 = boot_paging;
    state.cr3 = boot.root;
    state.cr4 = physical_address_extension;
    state.efer = long_mode;
    set_segments(state, BootState::code_selector, BootState::data_selector);
    state.gdt.base = boot.descriptors;
    state.gdt.limit = boot.descriptors_limit;
    state.idt.base = 0;
    state.idt.limit = 0;
    processor.set_system_registers(state);
    kvm_regs registers{};
    registers.rip = boot.entry;
    registers.rsp = boot.stack_top;
    registers.rsi = boot.boot_params;
    registers.rflags = 2;
    processor.set_registers(registers);
}

VmmQuestions::VmmQuestions(VirtualProcessor& processor, Mailbox& mailbox, const ImageHeader& header,
                           std::uint64_t root, const std::atomic<bool>& stopped)
    : processor_(processor), mailbox_(mailbox), header_(header), root_(root), stopped_(stopped) {}

bool VmmQuestions::answer() {
    while (const std::optional<PortRequest> request = run_to_request(processor_, stopped_)) {
        processor_.finish_instruction();
        if (request == PortRequest::answer) {
            return true;
        }
        if (request == PortRequest::ended) {
            return false;
        }
    }
    return false;
}

bool VmmQuestions::ask(Question question) {
    const kvm_regs registers = processor_.registers();
    const kvm_sregs state = processor_.system_registers();
    const std::uint8_t ready = processor_.exit().ready_for_interrupt_injection;
    mailbox_.question = question;
    describe_asker(mailbox_, state);
    enter_vmm(processor_, header_, root_, state);
    if (!answer()) {
        return false;
    }
    processor_.set_system_registers(state);
    processor_.set_registers(registers);
    processor_.exit().ready_for_interrupt_injection = ready; // the guest's value
    return true;
}

bool VmmQuestions::load() {
    if (!ask(Question::load)) {
        return false;
    }
    begin_guest(processor_, mailbox_.boot);
    return true;
}

} // namespace previrt
