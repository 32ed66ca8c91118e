// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/devices/vsock.hpp"

#include "frontends/x86/devices/dma_memory.hpp"
#include "frontends/x86/devices/machine.hpp"
#include "inplace-vmm/backend/vsock.hpp"

namespace previrt {

namespace {

constexpr virtio::PacketHost host{
    .room = [](void*, std::uint32_t bytes) { return backend::vsock_room(bytes); },
    .send = [](void*, std::uint32_t bytes) { backend::send_to_host(bytes); },
    .next = [](void*) { return backend::packet_from_host(); },
    .release = [](void*) { backend::release_packet_from_host(); },
    .context = nullptr};

} // namespace

void insert_vsock() {
    if (const std::optional<std::uint64_t> address = backend::vsock_address()) {
        pc.insert_vsock(*address);
    }
}

void serve_vsock() {
    if (!pc.vsock_masters_bus()) {
        return;
    }
    pc.vsock.serve(dma_memory, host);
    pc.update_channel_line();
    backend::notify_host();
}

} // namespace previrt
