// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/devices/console_ports.hpp"

#include "frontends/x86/devices/dma_memory.hpp"
#include "frontends/x86/devices/machine.hpp"
#include "inplace-vmm/backend/console_ports.hpp"

namespace previrt {

namespace {

static_assert(backend::most_console_ports == VirtioConsole::most_ports);
static_assert(backend::most_port_name_bytes == VirtioConsole::most_name_bytes);

constexpr virtio::PacketHost host{
    .room = [](void*, std::uint32_t bytes) { return backend::port_room(bytes); },
    .send = [](void*, std::uint32_t bytes) { backend::send_to_ports(bytes); },
    .next = [](void*) { return backend::packet_from_ports(); },
    .release = [](void*) { backend::release_packet_from_ports(); },
    .context = nullptr};

} // namespace

void insert_console_ports() {
    const std::span<const backend::ConsolePort> ports = backend::console_ports();
    if (ports.empty()) {
        return;
    }
    pc.insert_console();
    for (unsigned number = 0; number < ports.size(); ++number) {
        if (ports[number].exists) {
            pc.console.insert(number, {ports[number].name, ports[number].name_bytes});
        }
    }
}

void serve_console_ports() {
    if (!pc.console_masters_bus()) {
        return;
    }
    pc.console.serve(dma_memory, host);
    pc.update_channel_line();
    backend::notify_ports();
}

bool console_ports_wait() {
    return pc.console_masters_bus() && pc.console.waits_for_room();
}

} // namespace previrt
