// SPDX-License-Identifier: BSD-2-Clause
// The inputs of fuzz_virtio are rows of these.
#pragma once

#include <cstdint>

namespace previrt {

// What a guest, its VMM or the host does to one of the devices.
enum class VirtioStepKind : std::uint8_t {
    start,          // as Linux does
    write_register, // at `number`; the width is by `index`
    read_register,
    write_memory, // word `number` of 64 bits: `value`, its upper bits by `index`
    describe,     // a buffer of queue `index`, entry and flags by `number`, address and bytes by `value`
    offer,        // a chain of queue `index`, which begins at `number`
    notify,       // queue `index`
    serve,
    host, // what the host's end does next: bits of `value`
    race, // from now on memory changes while it is read, if `value` says so
};
constexpr std::uint8_t virtio_step_kinds = 10;

enum class VirtioDevice : std::uint8_t { balloon, vsock, folder, console };
constexpr std::uint8_t virtio_devices = 4;

struct VirtioStep {
    std::uint8_t kind; // and, above these, the device
    std::uint8_t index;
    std::uint16_t number;
    std::uint32_t value;
};
static_assert(sizeof(VirtioStep) == 8);

} // namespace previrt
