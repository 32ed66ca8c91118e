// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <sys/user.h>

// The host process in which the guest executes. It maps pages of the guest's and own_memory, nothing else,
// and it stands still unless run_child() lets it go on.
namespace previrt::traced {

// Memory that the child and this program share, at the same address in both. The guest has all addresses
// below.
constexpr std::uint64_t own_memory = 0x400000000000;
constexpr std::uint64_t own_memory_bytes = 0x20000;

// The selectors of every 64-bit process.
constexpr std::uint16_t user_code = 0x33;
constexpr std::uint16_t user_data = 0x2b;

// The registers with which the child has stopped, and with which it goes on.
extern user_regs_struct child_registers;

enum class StopReason : std::uint8_t { exception, system_call, event };

struct Stop {
    StopReason reason;
    std::uint8_t vector; // of the exception, and what follows
    std::uint32_t error_code;
    std::uint64_t address; // CR2
};

// Makes the child, which at first maps nothing of the guest's.
void start_child();
// The child goes on until it has to stop.
Stop run_child();

// Has the child call its host. Gives the result, or the error's number below zero.
struct HostCall {
    std::uint64_t number;
    std::array<std::uint64_t, 6> arguments;
};
std::int64_t call_in_child(const HostCall& call);

// The child stops with an event, now or as soon as it goes on.
void interrupt_child();

} // namespace previrt::traced
