// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/pci/guest_memory.hpp"
#include "devices/pci/pci.hpp"
#include "devices/virtio/transport.hpp"
#include "devices/virtio_fs/init_reply.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace previrt {

namespace virtio_fs {

constexpr unsigned queue_count = 2; // urgent requests, and all others
constexpr unsigned request_queue = 1;
constexpr std::uint32_t most_tag_bytes = 36;
using Queues = std::array<virtio::SplitQueue, queue_count>;

} // namespace virtio_fs

// The host's end of a folder, for one call. It has a server, which reads and writes the queues itself, in the
// guest's memory.
struct FolderHost {
    // Serve these queues. One that is not enabled has no requests.
    void (*begin)(void* context, const virtio_fs::Queues& queues);
    // Touch them no more.
    void (*end)(void* context);
    // Both take time. True: the server has done the last of them.
    bool (*is_settled)(void* context);
    // There are new requests.
    void (*notify)(void* context, unsigned queue);
    // It has answered some since the last call, and wants an interrupt.
    bool (*take_used)(void* context);
    void* context;
};

// The file-system device of virtio: a folder of the host. The device has the registers alone, and the host
// serves its queues.
//
// The VMM calls start() once, and read() and write() when the guest accesses a register. After a write, and
// when the server has settled or answered, it calls serve(). interrupt_line() is INTA#, a level, which
// changes with any of these.
struct VirtioFs {
    static constexpr std::uint32_t configuration_bytes = virtio_fs::most_tag_bytes + 4;

    virtio::Transport transport{};
    std::array<std::uint8_t, virtio_fs::most_tag_bytes> tag{};
    bool is_served = false;
    bool is_ending = false; // the server may still touch the queues
    virtio_fs::InitReply init_reply{};
    std::uint8_t ended_status = 0; // the driver's before its reset, which lasts until the server has ended

    // The name by which the driver knows the folder: at most most_tag_bytes.
    void start(std::string_view name);
    // Puts the function on bus 0; nullptr as Pci::add().
    static PciFunction* add_function(Pci& pci, unsigned device);

    // nullopt, false: the driver must not do that, and the VMM must stop the guest. `offset` is the offset in
    // the BAR.
    std::optional<std::uint32_t> read(std::uint32_t offset, unsigned width);
    bool write(std::uint32_t offset, unsigned width, std::uint32_t value);

    // `masters_bus`: without that, the server does not touch the guest's memory.
    void serve(const GuestMemory& memory, const FolderHost& host, bool masters_bus);
    [[nodiscard]] bool interrupt_line() const { return transport.interrupt_line(); }

private:
    [[nodiscard]] bool queues_are_in_ram(const GuestMemory& memory) const;
    void begin(const GuestMemory& memory, const FolderHost& host);
    void find_init_reply(const GuestMemory& memory, virtio::SplitQueue requests);
};

static_assert(std::is_trivially_copyable_v<VirtioFs>);

} // namespace previrt
