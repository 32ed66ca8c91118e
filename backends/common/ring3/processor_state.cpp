// SPDX-License-Identifier: BSD-2-Clause
// Processor state that level 3 can read but not change.
#include "inplace-vmm/backend/processor_state.hpp"
#include "inplace-vmm/processor.hpp"

namespace previrt::backend {

namespace {

[[gnu::section("processor")]] std::uint64_t debug_registers[8];

} // namespace

// They hold the written values and never compare: every debug exception is a single step.
void write_debug_register(unsigned number, std::uint64_t value) {
    debug_registers[number & 7U] = value;
}

std::uint64_t read_debug_register(unsigned number) {
    constexpr std::uint64_t single_step = 1U << 14U;
    return debug_registers[number & 7U] | (number == 6 ? single_step : 0);
}

bool compares_debug_registers() {
    return false;
}

// The host has enabled all components of its processor. A KVM that interprets keeps the guest's value, but
// executes level 3 with the host's.
void write_xcr0(std::uint64_t /*value*/) {}

std::uint64_t read_xcr0() {
    return processor::read_xcr0();
}

CpuidLeaf host_cpuid(std::uint32_t leaf, std::uint32_t subleaf) {
    CpuidLeaf answer{};
    asm volatile("cpuid"
                 : "=a"(answer.eax), "=b"(answer.ebx), "=c"(answer.ecx), "=d"(answer.edx)
                 : "a"(leaf), "c"(subleaf));
    return answer;
}

} // namespace previrt::backend
