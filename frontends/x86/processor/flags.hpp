// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/vcpu.hpp"

#include <cstdint>

namespace previrt {

// RFLAGS as the guest would push it.
inline std::uint64_t guest_flags() {
    return (vcpu.registers.rflags & native_flags) | flag_reserved_one | vcpu.system_flags |
           (vcpu.interrupt_flag ? std::uint64_t{flag_interrupt} : 0);
}

inline unsigned io_privilege() {
    return static_cast<unsigned>(vcpu.system_flags >> 12U) & 3U;
}

// After an entry from user mode, whose flags the real RFLAGS held.
inline void take_user_flags() {
    vcpu.system_flags =
        (vcpu.system_flags & ~native_user_flags) | (vcpu.registers.rflags & native_user_flags);
}

// Loads the flags in `which`.
inline void load_flags(std::uint64_t value, std::uint64_t which) {
    constexpr std::uint64_t system = flag_iopl | flag_nested_task | flag_alignment;
    const std::uint64_t native = native_flags & which;
    vcpu.registers.rflags = (vcpu.registers.rflags & ~native) | (value & native);
    vcpu.system_flags = (vcpu.system_flags & ~(system & which)) | (value & system & which);
    if ((which & flag_interrupt) != 0) {
        vcpu.interrupt_flag = (value & flag_interrupt) != 0;
    }
}

} // namespace previrt
