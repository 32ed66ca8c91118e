// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

// `syscall` of 32-bit code on AMD's processors, and `sysenter` on Intel's. The host expects them in its
// 32-bit vDSO alone. So it tells no address of theirs, and reads a word of the program's stack, from which
// its vDSO would restore EBP. If it cannot read that word, the call's number is lost.
namespace previrt::process {

void start_placeless_calls();
// Whether user mode came by such an instruction. `rip` and `cs` are those of the signal's frame.
bool is_placeless_call(std::uint64_t rip, std::uint16_t cs);
void take_placeless_call();
// Whether user mode is about to execute one: the stack has to be mapped by then. Returns its address, or 0.
std::uint64_t stack_of_placeless_call();

} // namespace previrt::process
