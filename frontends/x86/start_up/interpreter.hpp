// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/start_up/starting_processor.hpp"
#include "frontends/x86/start_up/surroundings.hpp"

#include <cstdint>
#include <span>

namespace previrt::start_up {

enum class Ending : std::uint8_t {
    going_on,  // the bound is reached
    halted,    // by hlt; RIP is behind it
    long_mode, // 64-bit mode is entered: RIP is its first instruction
    fault,     // the instruction raises an exception, which the interpreter does not deliver
    refused,   // the interpreter does not know the instruction, or not this use of it
};

struct Report {
    Ending ending;
    std::uint64_t steps; // that were completed

    // Of fault and refused. Registers are as before the instruction, memory may be written in part.
    const char* reason;  // else nullptr
    std::uint8_t vector; // of fault
    std::uint16_t selector;
    std::uint64_t offset; // the instruction is at selector:offset
    std::uint8_t bytes[15];
    std::uint8_t byte_count; // as many of them as could be read

    [[nodiscard]] std::span<const std::uint8_t> instruction() const& { return {bytes, byte_count}; }
    [[nodiscard]] std::span<const std::uint8_t> instruction() const&& = delete;
};

// Takes at most this many steps. A step is an instruction, or one element of a repeated one, or one try of a
// locked one. A report other than going_on ends the run. If the processor is in 64-bit mode it takes no step.
Report run(StartingProcessor& processor, const Surroundings& surroundings, std::uint64_t most_steps);

} // namespace previrt::start_up
