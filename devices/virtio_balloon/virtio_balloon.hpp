// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/pci/guest_memory.hpp"
#include "devices/pci/pci.hpp"
#include "devices/virtio/transport.hpp"

#include <cstdint>
#include <optional>
#include <type_traits>

namespace previrt {

// The taker of memory that a guest gives back, for one call. The range is whole pages of RAM, which read as
// zeros from then on.
struct MemoryTaker {
    using Take = void (*)(void* context, std::uint64_t address, std::uint64_t bytes);

    Take take;
    void* context;
};

// The memory balloon of virtio. It never asks for memory, but takes what the driver gives: free pages that it
// reports, and pages of the balloon.
//
// The VMM calls start() once, and read() and write() when the guest accesses a register; these touch none of
// the guest's memory. After a write, and only while the function masters the bus, it calls serve() if
// is_notified(). interrupt_line() is INTA#, a level, which changes with any of these.
struct VirtioBalloon {
    static constexpr std::uint32_t configuration_bytes = 8;
    // What one call of serve() takes; the driver keeps the rest, as it may at any time. Linux reports at most
    // half of it at once.
    static constexpr std::uint64_t most_pages = 0x1'0000;

    virtio::Transport transport{};
    std::uint32_t actual = 0; // pages in the balloon, as the driver says
    std::uint64_t taken_pages = 0;

    void start();
    // Puts the function on bus 0; nullptr as Pci::add().
    static PciFunction* add_function(Pci& pci, unsigned device);

    // nullopt, false: the driver must not do that, and the VMM must stop the guest. `offset` is the offset in
    // the BAR.
    std::optional<std::uint32_t> read(std::uint32_t offset, unsigned width);
    bool write(std::uint32_t offset, unsigned width, std::uint32_t value);

    [[nodiscard]] bool is_notified() const { return transport.notified != 0; }
    void serve(const GuestMemory& memory, const MemoryTaker& taker);
    [[nodiscard]] bool interrupt_line() const { return transport.interrupt_line(); }

private:
    class Service;
};

static_assert(std::is_trivially_copyable_v<VirtioBalloon>);

} // namespace previrt
