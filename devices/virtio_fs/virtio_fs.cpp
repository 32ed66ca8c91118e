// SPDX-License-Identifier: BSD-2-Clause
#include "devices/virtio_fs/virtio_fs.hpp"

#include "devices/virtio/configuration_space.hpp"

#include <algorithm>

namespace previrt {

using namespace virtio;
using namespace virtio_fs;

namespace {

constexpr std::uint16_t all_queues = (1U << queue_count) - 1;
// Linux puts as many pages into a request as a queue has entries, less four.
constexpr std::uint16_t queue_entries = 1024;

constexpr std::uint32_t tag_at = Transport::configuration_offset;
constexpr std::uint32_t request_queues_at = tag_at + most_tag_bytes;
constexpr std::uint32_t request_queues = 1;

// The sizes of a queue's parts: section 2.7 of the specification.
constexpr std::uint64_t descriptor_bytes = 16;
constexpr std::uint64_t available_bytes(std::uint64_t entries) {
    return 6 + (2 * entries);
}
constexpr std::uint64_t used_bytes(std::uint64_t entries) {
    return 6 + (8 * entries);
}

} // namespace

void VirtioFs::start(std::string_view name) {
    std::copy_n(name.begin(), std::min(name.size(), tag.size()), tag.begin());
    transport.start(0, all_queues, queue_entries);
}

PciFunction* VirtioFs::add_function(Pci& pci, unsigned device) {
    return virtio::add_function(pci, device, Kind::file_system, configuration_bytes);
}

std::optional<std::uint32_t> VirtioFs::read(std::uint32_t offset, unsigned width) {
    if (offset == Transport::status_offset && transport.status == 0) {
        return width == 1 ? std::optional<std::uint32_t>(ended_status) : std::nullopt;
    }
    if (offset < Transport::configuration_offset) {
        return transport.read(offset, width);
    }
    if (offset < request_queues_at && width <= request_queues_at - offset) {
        std::uint32_t value = 0;
        for (unsigned i = 0; i < width; ++i) {
            value |= std::uint32_t{tag[offset - tag_at + i]} << (8U * i);
        }
        return value;
    }
    return offset == request_queues_at && width == sizeof request_queues ? std::optional(request_queues)
                                                                         : std::nullopt;
}

bool VirtioFs::write(std::uint32_t offset, unsigned width, std::uint32_t value) {
    if (offset >= Transport::configuration_offset) {
        return false;
    }
    const std::uint8_t before = transport.status;
    const bool is_modelled = transport.write(offset, width, value);
    if (transport.status == 0 && before != 0 && is_served) {
        ended_status = before;
    }
    return is_modelled;
}

bool VirtioFs::queues_are_in_ram(const GuestMemory& memory) const {
    return std::ranges::all_of(
        std::span(transport.queues).first<queue_count>(), [&](const SplitQueue& queue) {
            return !queue.is_enabled ||
                   (memory.to_read(queue.descriptors, descriptor_bytes * queue.size) != nullptr &&
                    memory.to_read(queue.available, available_bytes(queue.size)) != nullptr &&
                    memory.to_write(queue.used, used_bytes(queue.size)) != nullptr);
        });
}

void VirtioFs::begin(const GuestMemory& memory, const FolderHost& host) {
    if (!queues_are_in_ram(memory)) {
        transport.fail();
        return;
    }
    host.begin(host.context, {transport.queues[0], transport.queues[1]});
    is_served = true;
    init_reply.await();
}

// Of a copy of the queue: it is the server that takes the chains.
void VirtioFs::find_init_reply(const GuestMemory& memory, SplitQueue requests) {
    std::uint16_t waiting = 0;
    std::uint16_t head = 0;
    if (requests.look(memory, waiting) == Look::ready && waiting != 0 &&
        requests.take(memory, head) == Look::ready) {
        init_reply.find(transport.chain(requests, head), memory);
    }
}

void VirtioFs::serve(const GuestMemory& memory, const FolderHost& host, bool masters_bus) {
    if (is_ending && host.is_settled(host.context)) {
        is_ending = false;
        is_served = false;
        ended_status = 0;
    }
    // A driver that takes the bus away gets no answers. The server does not know them again later.
    if (is_served && !is_ending && transport.is_running() && !masters_bus) {
        transport.fail();
    }
    const bool is_running = transport.is_running() && masters_bus;
    if (is_served && !is_ending && !is_running) {
        host.end(host.context);
        is_ending = true;
    }
    if (!is_served && is_running) {
        begin(memory, host);
    }
    if (!is_served || is_ending) {
        return;
    }
    for (unsigned queue = 0; queue < queue_count; ++queue) {
        if (const SplitQueue* const notified = transport.take_notified(queue)) {
            if (queue == request_queue && init_reply.is_awaited) {
                find_init_reply(memory, *notified);
            }
            host.notify(host.context, queue);
        }
    }
    if (host.take_used(host.context)) {
        init_reply.change(memory);
        transport.tell_used();
    }
}

} // namespace previrt
