// SPDX-License-Identifier: BSD-2-Clause
// The inputs of fuzz_dp83820 are rows of these.
#pragma once

#include <cstdint>

namespace previrt {

// What a guest or its VMM does to the card.
enum class StepKind : std::uint8_t {
    read_register,    // number `index`
    write_register,   // number `index`
    read_anywhere,    // offset `number`
    write_memory,     // word `number`
    write_descriptor, // number `index`: cmdsts is `value`, its link and buffer are by `number`
    transmit,         // leaving checksums, if `value` is odd
    receive,          // `value` bytes; destination and type by `index`, the rest from memory
    serve_receiver,
    set_link,
    pass_time,
    send_bits, // of `value` by MDIO
    race,      // from now on memory changes while it is read, if `value` says so
};
constexpr std::uint8_t step_kinds = 12;

struct Step {
    std::uint8_t kind;
    std::uint8_t index;
    std::uint16_t number;
    std::uint32_t value;
};
static_assert(sizeof(Step) == 8);

} // namespace previrt
