// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/pci/guest_memory.hpp"
#include "devices/pci/pci.hpp"
#include "devices/virtio/packet_host.hpp"
#include "devices/virtio/transport.hpp"
#include "devices/virtio_console/packet.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace previrt {

// The console device of virtio, with several ports (VIRTIO_CONSOLE_F_MULTIPORT). Each port is a stream of
// bytes in both directions. Port 0 is a console; the guest finds the others by their names.
//
// The VMM calls start() once, then insert() for each port, and read() and write() when the guest accesses a
// register; these touch none of the guest's memory. After a write, and when packets or room have come at the
// host's end, it calls serve(), only while the function masters the bus. interrupt_line() is INTA#, a level,
// which changes with any of these.
struct VirtioConsole {
    static constexpr std::uint32_t configuration_bytes = 12;
    static constexpr unsigned most_ports = console_port::most_ports;
    static constexpr unsigned most_name_bytes = console_port::most_name_bytes;
    // In one chain.
    static constexpr std::uint32_t most_chain_bytes = std::uint32_t{1} << 20U;

    struct Port {
        std::array<char, most_name_bytes> name;
        std::uint8_t name_bytes;
        bool exists;
        bool host_is_open;  // bytes may still come
        bool is_ready;      // the driver knows the port
        bool guest_is_open; // a program of the guest, or its console, has it
        bool wants;         // the host was asked for bytes, and has sent none
        bool sending_waits; // for room at the host's end
        std::uint8_t owed;  // control messages, a bit for each
        std::uint32_t sent; // bytes of the first chain of its transmit queue
    };

    virtio::Transport transport{};
    std::array<Port, most_ports> ports{};
    bool is_ending = false;  // the driver resets it, and bytes of it still wait for room at the host's end
    std::uint32_t given = 0; // of the bytes of the host's oldest packet: the driver has them already

    void start();
    // At most once for each number. A console has no name.
    void insert(unsigned number, std::string_view name);
    // Puts the function on bus 0; nullptr as Pci::add().
    static PciFunction* add_function(Pci& pci, unsigned device);

    // nullopt, false: the driver must not do that, and the VMM must stop the guest. `offset` is the offset in
    // the BAR.
    std::optional<std::uint32_t> read(std::uint32_t offset, unsigned width);
    bool write(std::uint32_t offset, unsigned width, std::uint32_t value);

    void serve(const GuestMemory& memory, const virtio::PacketHost& host);
    // The guest has sent bytes for which the host had no room yet.
    [[nodiscard]] bool waits_for_room() const;
    [[nodiscard]] bool interrupt_line() const { return transport.interrupt_line(); }

private:
    class Service;

    void reset();
};

static_assert(std::is_trivially_copyable_v<VirtioConsole>);

} // namespace previrt
