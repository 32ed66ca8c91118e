// SPDX-License-Identifier: BSD-2-Clause
// What a process sees of the processor, and cannot change. segment_bases.cpp has the rest of this header.
#include "inplace-vmm/backend/processor_state.hpp"
#include "inplace-vmm/processor.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <cpuid.h>

namespace previrt::backend {

CpuidLeaf host_cpuid(std::uint32_t leaf, std::uint32_t subleaf) {
    CpuidLeaf answer{};
    __cpuid_count(leaf, subleaf, answer.eax, answer.ebx, answer.ecx, answer.edx);
    return answer;
}

// The host has the descriptor tables: a guest's code and data are those of any 64-bit process.
std::optional<std::uint64_t> stolen_time() {
    return {};
}

bool write_descriptor(bool /*local*/, unsigned /*index*/, std::uint64_t /*descriptor*/) {
    return false;
}

unsigned descriptor_count(bool /*local*/) {
    return 0;
}

unsigned descriptors_written(bool /*local*/) {
    return 0;
}

void load_local_table(std::uint64_t /*base*/, unsigned entries) {
    if (entries != 0) {
        stop_guest("a local descriptor table is not modelled here");
    }
}

void set_task_switched(bool set) {
    if (set) {
        stop_guest("CR0.TS and EM are not modelled here");
    }
}

// The host has enabled what its processor has. CR4.TSD does not stop user mode.
void set_extensions(std::uint64_t /*cr4*/) {}

// The Vcpu holds the guest's, and nothing compares addresses with them: a debug exception is a single step.
void write_debug_register(unsigned /*number*/, std::uint64_t /*value*/) {}

std::uint64_t read_debug_register(unsigned number) {
    return number == 6 ? debug_single_step : vcpu.debug[number & 7U];
}

bool compares_debug_registers() {
    return false;
}

void write_xcr0(std::uint64_t /*value*/) {} // the host's is in force

std::uint64_t read_xcr0() {
    return processor::read_xcr0();
}

void execute_state_instruction(const StateInstruction& instruction) {
    stop_guest("XSAVE with another XCR0 than the host's is not modelled here; at", instruction.address);
}

} // namespace previrt::backend
