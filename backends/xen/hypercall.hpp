// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/xen/interface.hpp"

#include <cstdint>

extern "C" {
#include <xen/callback.h>
#include <xen/event_channel.h>
#include <xen/sched.h>
#include <xen/vcpu.h>
#include <xen/version.h>
}

namespace previrt::xen {

// Every hypercall page begins with these instructions; a page of the VMM's own would only add a call.
inline std::int64_t hypercall(unsigned number, std::uint64_t first = 0, std::uint64_t second = 0,
                              std::uint64_t third = 0, std::uint64_t fourth = 0) {
    // NOLINTBEGIN(misc-const-correctness): asm writes them.
    std::int64_t result = number;
    register std::uint64_t fourth_register asm("r10") = fourth;
    // NOLINTEND(misc-const-correctness)
    asm volatile("syscall"
                 : "+a"(result), "+D"(first), "+S"(second), "+d"(third), "+r"(fourth_register)
                 :
                 : "rcx", "r11", "r8", "r9", "memory");
    return result;
}

// Counts the call. If Xen refuses it, the VMM has a defect and stops the guest.
void must_succeed(unsigned number, const char* what, std::uint64_t first = 0, std::uint64_t second = 0,
                  std::uint64_t third = 0, std::uint64_t fourth = 0);

template <typename Value>
std::uint64_t address_of(Value* value) {
    return reinterpret_cast<std::uint64_t>(value);
}

} // namespace previrt::xen
