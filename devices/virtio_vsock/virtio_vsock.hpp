// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/pci/guest_memory.hpp"
#include "devices/pci/pci.hpp"
#include "devices/virtio/packet_host.hpp"
#include "devices/virtio/transport.hpp"
#include "devices/virtio_vsock/packet.hpp"

#include <cstdint>
#include <optional>
#include <type_traits>

namespace previrt {

// The socket device of virtio. It moves whole packets between the driver and the host's end, and knows
// neither streams nor their credit.
//
// The VMM calls start() once, and read() and write() when the guest accesses a register; these touch none of
// the guest's memory. After a write, and when packets or room have come at the host's end, it calls serve(),
// only while the function masters the bus. interrupt_line() is INTA#, a level, which changes with any of
// these.
struct VirtioVsock {
    static constexpr std::uint32_t configuration_bytes = 8;

    virtio::Transport transport{};
    std::uint64_t guest_cid = 0;
    std::uint32_t given = 0;    // of the payload of the host's oldest packet: the driver has it already
    bool sending_waits = false; // for room at the host's end

    void start(std::uint64_t cid);
    // Puts the function on bus 0; nullptr as Pci::add().
    static PciFunction* add_function(Pci& pci, unsigned device);

    // nullopt, false: the driver must not do that, and the VMM must stop the guest. `offset` is the offset in
    // the BAR.
    std::optional<std::uint32_t> read(std::uint32_t offset, unsigned width);
    bool write(std::uint32_t offset, unsigned width, std::uint32_t value);

    void serve(const GuestMemory& memory, const virtio::PacketHost& host);
    [[nodiscard]] bool interrupt_line() const { return transport.interrupt_line(); }

private:
    class Service;
};

static_assert(std::is_trivially_copyable_v<VirtioVsock>);

} // namespace previrt
