// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/dp83820/descriptor.hpp"

#include <cstdint>

namespace previrt::dp83820 {

// Idle has come to the end of its descriptors; off was told to stop, or never to start.
enum class Engine : std::uint8_t { off, idle, active };

// Where one of the two DMA engines is in its list of descriptors.
struct DescriptorRing {
    enum class Look : std::uint8_t { ready, exhausted, fault };

    std::uint64_t pointer = 0; // TXDP or RXDP, aligned
    Engine engine = Engine::off;
    bool done = false;      // with the descriptor at `pointer`, whose link was 0
    bool requested = false; // enabled, and nobody has looked since

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

    // Goes on past a descriptor that is done. Ready: its OWN is `ours`.
    Look look(const GuestMemory& memory, DescriptorFormat format, std::uint32_t ours, Descriptor& descriptor);
    // Writes back the one at `pointer`, which look() has given, and goes on by the link that it had then:
    // once it is the guest's, Linux clears that.
    Look finish(const GuestMemory& memory, DescriptorFormat format, std::uint64_t link, std::uint32_t cmdsts,
                std::optional<std::uint32_t> extsts);
};

} // namespace previrt::dp83820
