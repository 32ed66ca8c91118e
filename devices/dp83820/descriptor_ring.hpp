// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/dp83820/descriptor.hpp"

#include <cstdint>

namespace previrt::dp83820 {

// Idle: at the end of its descriptors. Off: told to stop, or never to start.
enum class Engine : std::uint8_t { off, idle, active };

// The position of one of the two DMA engines in its list of descriptors.
struct DescriptorRing {
    enum class Look : std::uint8_t { ready, exhausted, fault };

    std::uint64_t pointer = 0; // TXDP or RXDP, aligned
    Engine engine = Engine::off;
    bool done = false;      // with the descriptor at `pointer`, whose link was 0
    bool requested = false; // enabled, and not looked at since

    void enable() {
        requested = requested || engine != Engine::active;
        engine = Engine::active;
    }
    void stop(Engine how) {
        engine = how;
        requested = false;
    }
    void write_pointer(std::uint64_t value) {
        pointer = value & ~(descriptor_alignment - 1);
        done = false;
    }

    // Moves past a finished descriptor. Ready: OWN of the next one is `ours`.
    Look look(const GuestMemory& memory, DescriptorFormat format, std::uint32_t ours, Descriptor& descriptor);
    // Writes back the descriptor at `pointer`, which look() returned, and follows the link that it had then:
    // Linux clears the link once the descriptor is the guest's.
    Look finish(const GuestMemory& memory, DescriptorFormat format, std::uint64_t link, std::uint32_t cmdsts,
                std::optional<std::uint32_t> extsts);
};

} // namespace previrt::dp83820
