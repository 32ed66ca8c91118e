// SPDX-License-Identifier: BSD-2-Clause
#include "backends/process/placeless_calls.hpp"

#include "backends/process/segments.hpp"
#include "frontends/x86/paging/guest_memory.hpp"
#include "frontends/x86/processor/cpuid.hpp"
#include "frontends/x86/processor/entries.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt::process {

namespace {

bool is_sysenter; // not `syscall`, as on AMD's processors and their kin

} // namespace

void start_placeless_calls() {
    is_sysenter = !is_of_amd();
}

// The host continues in its vDSO, beyond 4 GiB, where nothing is mapped.
bool is_placeless_call(std::uint64_t rip, std::uint16_t cs) {
    return cs == selector_user_code_32 && rip >> 32U != 0;
}

// A guest's Linux ignores the address, and returns to its own vDSO. Another kernel reads it: `syscall` leaves
// in ECX the address behind the instruction, and this one counts as an instruction at 0.
void take_placeless_call() {
    constexpr std::uint64_t instruction_bytes = 2;
    auto& general = vcpu.registers.general;
    vcpu.registers.rip = instruction_bytes;
    if (is_sysenter) {
        general[rbp] = general[rsp]; // the program's ESP is not known to anybody
        sysenter_taken();
    } else {
        general[rbp] = general[rcx];
        system_call_taken(true);
    }
}

// The vDSO of the guest's Linux pushes EBP two instructions before, so the page is mapped if nothing has
// interrupted the program there. An interrupt returns to `mov %ecx, %ebp`, `mov %esp, %ebp` or to the
// instruction itself.
std::uint64_t stack_of_placeless_call() {
    constexpr std::uint8_t first_byte = 0x0f;
    const std::uint8_t second_byte = is_sysenter ? 0x34 : 0x05;
    if (vcpu.cs == selector_user_code || vcpu.cpl != 3) {
        return 0;
    }
    std::uint8_t code[4] = {};
    const std::size_t got = peek_guest(vcpu.registers.rip, code, sizeof(code), Privilege::user);
    for (std::size_t i = 0; i + 1 < got; i += 2) {
        if (code[i] == first_byte && code[i + 1] == second_byte) {
            const unsigned stack = is_sysenter && i == 0 ? rbp : rsp;
            return static_cast<std::uint32_t>(vcpu.registers.general[stack]);
        }
    }
    return 0;
}

} // namespace previrt::process
