// SPDX-License-Identifier: BSD-2-Clause
#include "backends/common/ring3/state_instructions.hpp"

#include "backends/common/ring3/state_instruction_bytes.h"
#include "inplace-vmm/backend/processor_state.hpp"
#include "inplace-vmm/vcpu.hpp"
#include "previrt/site_kinds.hpp"

namespace previrt {

extern "C" {
extern std::uint8_t state_instructions[];
extern std::uint8_t state_instruction_done[];
extern std::uint8_t state_instructions_end[];
[[gnu::section("processor")]] std::uint64_t state_rax;
[[gnu::section("processor")]] std::uint64_t state_rcx;
[[gnu::section("processor")]] std::uint64_t state_rdx;
[[gnu::section("processor")]] std::uint64_t state_next;
[[gnu::section("processor")]] bool state_instruction_has_begun;
}

namespace {

constexpr std::uint64_t low_half = 0xffffffff;

[[gnu::section("processor")]] backend::StateInstruction wanted;
[[gnu::section("processor")]] bool is_wanted;
[[gnu::section("processor")]] std::uint64_t site;

std::uint64_t address_of(const std::uint8_t* place) {
    return reinterpret_cast<std::uint64_t>(place);
}

std::uint64_t entry_of(const backend::StateInstruction& instruction) {
    std::uint64_t number = instruction.wide ? 1 : 0;
    if (instruction.kind == SiteKind::xsaveopt) {
        number += 2;
    } else if (instruction.kind == SiteKind::xrstor) {
        number += 4;
    }
    return address_of(state_instructions) + (number * STATE_INSTRUCTION_BYTES);
}

} // namespace

void recall_state_instruction() {
    state_instruction_has_begun = false;
    const std::uint64_t here = vcpu.registers.rip;
    if (vcpu.cpl != 0 || here < address_of(state_instructions) ||
        here >= address_of(state_instructions_end)) {
        return;
    }
    const std::uint64_t offset = here - address_of(state_instructions);
    const bool is_to_be_done =
        here < address_of(state_instruction_done) && offset % STATE_INSTRUCTION_BYTES == 0;
    vcpu.registers.general[rax] = state_rax;
    vcpu.registers.general[rcx] = state_rcx;
    vcpu.registers.general[rdx] = state_rdx;
    vcpu.registers.rip = is_to_be_done ? site : state_next;
}

void enter_state_instruction() {
    if (!is_wanted) {
        return;
    }
    is_wanted = false;
    if (vcpu.cpl != 0 || vcpu.registers.rip != wanted.address) {
        return; // an interrupt comes first, and then this again
    }
    state_rax = vcpu.registers.general[rax];
    state_rcx = vcpu.registers.general[rcx];
    state_rdx = vcpu.registers.general[rdx];
    state_next = wanted.next;
    site = wanted.address;
    vcpu.registers.general[rax] = wanted.mask & low_half;
    vcpu.registers.general[rcx] = wanted.area;
    vcpu.registers.general[rdx] = wanted.mask >> 32U;
    vcpu.registers.rip = entry_of(wanted);
    state_instruction_has_begun = true;
}

} // namespace previrt

namespace previrt::backend {

void execute_state_instruction(const StateInstruction& instruction) {
    wanted = instruction;
    is_wanted = true;
}

} // namespace previrt::backend
