// SPDX-License-Identifier: BSD-2-Clause
#include "backends/common/ring3/site_entries.hpp"

#include "backends/common/ring3/trampolines.hpp"
#include "frontends/x86/paging/guest_memory.hpp"
#include "frontends/x86/paging/page_walk.hpp"
#include "frontends/x86/processor/entries.hpp"
#include "frontends/x86/processor/exceptions.hpp"
#include "inplace-vmm/rewriter.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt {

extern "C" {
extern std::uint64_t jump_rax;
extern std::uint32_t jump_number;
extern const std::uint64_t sti_region[2]; // from behind the store that enables, up to and with its ret
void site_jump();
void site_jump_masked();
void system_return_jump();
void interrupt_return_jump();
extern std::uint8_t guest_text_start[];
extern std::uint8_t guest_text_end[];
}

namespace {

constexpr std::size_t trampoline_count = 256;

alignas(16) std::uint8_t trampoline_code[trampoline_count * trampoline_bytes];
std::uint64_t trampoline_sites[trampoline_count];

std::uint64_t pop_word() {
    std::uint64_t word = 0;
    if (!read_guest(vcpu.registers.general[rsp], word)) {
        stop_guest("a call of the VMM without a stack, at", vcpu.registers.general[rsp]);
    }
    vcpu.registers.general[rsp] += sizeof(word);
    return word;
}

// Completes the rest: popq %rcx and ret, and the shadow of the sti.
void complete_sti() {
    constexpr std::uint64_t ret_bytes = 1;
    if (vcpu.registers.rip + ret_bytes != sti_region[1]) {
        vcpu.registers.general[rcx] = pop_word();
    }
    vcpu.registers.rip = pop_word();
    vcpu.interrupt_shadow = true;
}

} // namespace

void start_site_trampolines() {
    start_trampolines({.code = trampoline_code,
                       .address = reinterpret_cast<std::uint64_t>(trampoline_code),
                       .count = trampoline_count,
                       .sites = trampoline_sites});
}

std::uint64_t jumping_site() {
    return trampoline_sites[jump_number % trampoline_count];
}

bool is_site_code(std::uint64_t address) {
    return (address >= reinterpret_cast<std::uint64_t>(guest_text_start) &&
            address < reinterpret_cast<std::uint64_t>(guest_text_end)) ||
           site_of_trampoline(address) != 0;
}

void finish_step() {
    vcpu.step_after_site = true;
    vcpu.registers.rflags &= ~std::uint64_t{flag_trap};
    const std::uint64_t site = site_of_trampoline(vcpu.registers.rip);
    if (site != 0) {
        site_jumped(site);
    } else {
        site_called(pop_word());
    }
}

namespace {

// Undoes the call too.
std::uint64_t take_leading_site() {
    const std::uint64_t jumping = site_of_trampoline(vcpu.registers.rip);
    if (jumping != 0) {
        return jumping;
    }
    std::uint64_t& stack = vcpu.registers.general[rsp];
    std::uint64_t next = 0;
    if (peek_guest(stack, reinterpret_cast<std::uint8_t*>(&next), sizeof(next), Privilege::user) !=
        sizeof(next)) {
        return 0;
    }
    for (const std::size_t bytes : {call_bytes, absolute_call_bytes}) {
        if (find_site(next - bytes) != nullptr) {
            stack += sizeof(next);
            return next - bytes;
        }
    }
    return 0;
}

} // namespace

void execute_site_for_user(bool is_step) {
    const std::uint64_t here = vcpu.registers.rip;
    const std::uint64_t site = take_leading_site();
    if (site == 0 || walk_page(site, {.user = true, .fetch = true}).faults) {
        raise_page_fault(here, fault_user | fault_fetch);
        return;
    }
    if (is_step) {
        vcpu.step_after_site = true;
        vcpu.registers.rflags &= ~std::uint64_t{flag_trap};
    }
    site_jumped(site);
}

void leave_site_code() {
    const std::uint64_t here = vcpu.registers.rip;
    // At its end, interrupts are still enabled: the instruction there takes that back.
    if (here >= sti_region[0] && here <= sti_region[1]) {
        complete_sti();
        return;
    }
    const bool in_jump = here >= reinterpret_cast<std::uint64_t>(&site_jump) &&
                         here < reinterpret_cast<std::uint64_t>(&site_jump_masked);
    if (in_jump) {
        const bool is_first = here == reinterpret_cast<std::uint64_t>(&site_jump) ||
                              here == reinterpret_cast<std::uint64_t>(&system_return_jump) ||
                              here == reinterpret_cast<std::uint64_t>(&interrupt_return_jump);
        const auto number = is_first ? static_cast<std::uint32_t>(vcpu.registers.general[rax]) : jump_number;
        vcpu.registers.rip = trampoline_sites[number % trampoline_count];
        vcpu.registers.general[rax] = jump_rax;
        return;
    }
    const std::uint64_t site = site_of_trampoline(here);
    const KnownSite* const known = site != 0 ? find_site(site) : nullptr;
    if (known != nullptr) {
        const std::uint64_t offset = here - reinterpret_cast<std::uint64_t>(trampoline_code);
        vcpu.registers.rip = undo_trampoline(*known, offset % trampoline_bytes);
    }
}

} // namespace previrt
