// SPDX-License-Identifier: BSD-2-Clause
#include "backends/common/ring3/user_call_sites.hpp"

#include "frontends/x86/processor/entries.hpp"
#include "frontends/x86/processor/flags.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <cstring>

namespace previrt {

std::uint8_t* put(std::uint8_t* to, std::uint64_t value, unsigned bytes) {
    std::memcpy(to, &value, bytes);
    return to + bytes;
}

std::span<const std::uint8_t> comparison_at(std::span<const std::uint8_t> page, unsigned offset) {
    const std::span<const std::uint8_t> code = page.subspan(offset);
    constexpr std::size_t short_form = 5;
    constexpr std::size_t long_form = 6;
    if (code.size() < system_call_bytes + short_form || code[0] != 0x0f || code[1] != 0x05) {
        return {};
    }
    const std::span<const std::uint8_t> behind = code.subspan(system_call_bytes);
    if (behind[0] == 0x3d) {
        return behind.first(short_form);
    }
    const bool is_long = behind.size() >= long_form && behind[0] == 0x48 && behind[1] == 0x3d;
    return behind.first(is_long ? long_form : 0);
}

// Uses the only SIB byte for this that faults as an opcode.
void write_user_call_jump(std::uint8_t* to, const std::uint64_t* slot) {
    put(put(to, 0xe524ff, 3), reinterpret_cast<std::uint64_t>(slot), 4);
}

void step_through_user_call(bool (*is_user_call)(std::uint64_t address)) {
    const bool is_step = (vcpu.registers.rflags & flag_trap) != 0 && !vcpu.stepping;
    if (vcpu.cpl == 3 && is_step && is_user_call(vcpu.registers.rip)) {
        vcpu.registers.rip += system_call_bytes;
        system_call_taken(false);
        prepare_return();
    }
}

} // namespace previrt
