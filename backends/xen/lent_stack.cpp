// SPDX-License-Identifier: BSD-2-Clause
#include "backends/xen/lent_stack.hpp"

#include "frontends/x86/paging/page_walk.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <cstdint>

namespace previrt::xen {

namespace {

// Room for a frame, and for what a site's call pushes.
constexpr std::uint64_t bytes = 512;
[[gnu::section("processor")]] alignas(16) std::uint8_t stack[bytes];
[[gnu::section("processor")]] std::uint64_t guests; // RSP, while it is lent
[[gnu::section("processor")]] bool is_lent;

std::uint64_t top() {
    return reinterpret_cast<std::uint64_t>(stack) + bytes;
}

bool is_missing(std::uint64_t pointer) {
    const std::uint64_t pushed = pointer - sizeof(std::uint64_t);
    return !is_canonical(pushed) || walk_page(pushed, {.write = true}).faults;
}

} // namespace

void lend_stack() {
    if (!vcpu.stack_may_be_missing) {
        return;
    }
    if (vcpu.cpl != 0 || vcpu.interrupt_flag) { // it takes its own interrupts
        vcpu.stack_may_be_missing = false;
        return;
    }
    std::uint64_t& pointer = vcpu.registers.general[rsp];
    is_lent = is_missing(pointer);
    if (is_lent) {
        guests = pointer;
        pointer = top();
    }
}

void take_stack_back() {
    std::uint64_t& pointer = vcpu.registers.general[rsp];
    if (is_lent && top() - pointer <= bytes) {
        pointer = guests - (top() - pointer);
    }
    is_lent = false;
}

} // namespace previrt::xen
