// SPDX-License-Identifier: BSD-2-Clause
// The inputs of fuzz_nvme are rows of these.
#pragma once

#include <cstdint>

namespace previrt {

// What a guest, its VMM or the host does to the controller.
enum class NvmeStepKind : std::uint8_t {
    write_register, // word `index`
    read_register,  // word `number`, 4 or 8 bytes
    write_memory,   // word `number`
    write_command,  // entry `index` of the queue of `number`: the opcode and PRPs are by `number` and `value`
    write_word,     // dword 10 + `number` of entry `index`
    ring,           // queue `index` by `value`
    serve,
    complete, // transfer `number`; the end is by `index`
    race,     // from now on memory changes while it is read, if `value` says so
};
constexpr std::uint8_t nvme_step_kinds = 9;

struct NvmeStep {
    std::uint8_t kind;
    std::uint8_t index;
    std::uint16_t number;
    std::uint32_t value;
};
static_assert(sizeof(NvmeStep) == 8);

// The places of the queues and lists that the first inputs use.
namespace nvme_place {
constexpr std::uint32_t queues = 0x1'0000; // a page each: submission 0, completion 0, submission 1, ...
constexpr std::uint32_t queue_stride = 0x1000;
constexpr std::uint32_t entries = 8;
constexpr std::uint32_t lists = 0x2'0000;
constexpr std::uint32_t data = 0x3'0000;
} // namespace nvme_place

} // namespace previrt
