// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>

namespace previrt::kvm {

// Indices of the counters of level-0 calls, and of interrupts to other processors.
enum Level0Call : std::uint8_t {
    call_load_root,
    call_invalidate,
    call_write_cr0,
    call_write_cr4,
    call_wait,
    call_read_fault_address,
    call_interrupt, // of another processor
    call_wait_for_vmm,
    level_0_call_count,
};
constexpr std::array<const char*, level_0_call_count> level_0_call_names = {
    "load CR3",        "invlpg", "load CR0", "load CR4", "wait", "read CR2", "interrupt a processor",
    "wait for the VMM"};

} // namespace previrt::kvm
