// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/process/host_calls.hpp"

#include <cstdint>

// Inlined, because only the VMM's own text may call the host.
namespace previrt::process {

// Negative: an error number. NOLINTBEGIN(misc-const-correctness): asm writes.
[[gnu::always_inline]] inline std::int64_t call_host(SystemCall call, const CallArguments& arguments) {
    std::int64_t result = call;
    register std::uint64_t fourth asm("r10") = arguments.fourth;
    register std::uint64_t fifth asm("r8") = arguments.fifth;
    register std::uint64_t sixth asm("r9") = arguments.sixth;
    asm volatile("syscall"
                 : "+a"(result)
                 : "D"(arguments.first), "S"(arguments.second), "d"(arguments.third), "r"(fourth), "r"(fifth),
                   "r"(sixth)
                 : "rcx", "r11", "memory");
    return result;
}
// NOLINTEND(misc-const-correctness)

} // namespace previrt::process
