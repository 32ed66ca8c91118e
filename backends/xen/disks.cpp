// SPDX-License-Identifier: BSD-2-Clause
// Block devices of another domain, each by a ring of xen/io/blkif.h.
#include "inplace-vmm/backend/disks.hpp"
#include "backends/xen/block_ring.hpp"
#include "backends/xen/domain.hpp"
#include "backends/xen/domain_store.hpp"
#include "backends/xen/event_ports.hpp"
#include "backends/xen/grants.hpp"
#include "backends/xen/vbd.hpp"
#include "inplace-vmm/backend/memory.hpp"
#include "inplace-vmm/backend/time.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/stop.hpp"

#include <algorithm>
#include <span>

namespace previrt::xen {

namespace {

struct BlockDevice {
    Vbd vbd;
    BlockRing ring;
    std::uint32_t number = 0; // in xenstore
    std::uint32_t port = 0;
};

constinit BlockDevice devices[backend::most_disks];
unsigned device_count;

// Only a domain with disks needs the pages.
void make_ring(BlockDevice& device) {
    std::uint8_t* const memory = take_memory(page_size * (1 + BlockRing::pages));
    const domid_t backend = device.vbd.backend();
    VbdEnds ends{};
    ends.ring = grant_pages(backend, memory, 1, Grant::to_write);
    device.port = allocate_port(backend);
    ends.port = device.port;
    listen(device.port);
    std::uint8_t* const pages = memory + page_size;
    device.ring.start(*reinterpret_cast<BlockPage*>(memory), pages,
                      grant_pages(backend, pages, BlockRing::pages, Grant::to_write), backend::guest_ram());
    device.vbd.offer(ends);
}

void wait_for_disk(BlockDevice& device, std::uint64_t until) {
    while (!device.vbd.is_connected()) {
        const std::uint64_t now = backend::now();
        if (device.vbd.is_closed()) {
            stop_guest("a disk's back-end refuses, or has a disk that no guest can have; its number in "
                       "device/vbd is",
                       device.number);
        }
        if (now >= until) {
            stop_guest("a disk's back-end does not connect; its number in device/vbd is", device.number);
        }
        wait_for(domain.info->store_evtchn, until - now);
    }
    device.ring.describe({.number = device.number, .flush_operation = device.vbd.flush_operation()});
}

// A closed device gives no more responses.
BlockRing& ring_of(unsigned disk) {
    BlockDevice& device = devices[disk];
    if (!device.vbd.is_connected()) {
        device.ring.give_up();
    }
    return device.ring;
}

void push(BlockDevice& device) {
    if (device.ring.push()) {
        ++counters.disk_calls;
        notify(device.port);
    }
}

} // namespace

// A guest does not start without a disk that its domain has.
void start_disks() {
    constexpr std::uint64_t longest = 30'000'000'000;
    Xenstore* const store = domain_store();
    if (store == nullptr) {
        return;
    }
    std::uint32_t numbers[backend::most_disks] = {};
    const std::size_t count = find_devices(*store, Vbd::directory, numbers);
    if (count > backend::most_disks) {
        stop_guest("the domain has more disks than a guest can have, which are 8:", count);
    }
    for (const std::uint32_t number : std::span(numbers).first(count)) {
        BlockDevice& device = devices[device_count++];
        device.number = number;
        if (!device.vbd.find(*store, number)) {
            stop_guest("xenstore names no back-end for a disk; its number in device/vbd is", number);
        }
        make_ring(device);
    }
    const std::uint64_t until = backend::now() + longest;
    for (BlockDevice& device : std::span(devices).first(device_count)) {
        wait_for_disk(device, until);
    }
}

} // namespace previrt::xen

namespace previrt::backend {

using namespace xen;

unsigned disk_count() {
    return device_count;
}

Disk disk(unsigned number) {
    return devices[number].vbd.disk();
}

bool submit(unsigned disk, const DiskRequest& request) {
    return ring_of(disk).submit(request);
}

std::optional<DiskCompletion> next_completion(unsigned disk) {
    const std::optional<DiskCompletion> completion = ring_of(disk).next();
    if (!completion) {
        push(devices[disk]); // of a transfer that goes on
    }
    return completion;
}

bool disks_wait() {
    return std::ranges::any_of(std::span(devices).first(device_count),
                               [](const BlockDevice& device) { return device.ring.has_unpushed(); });
}

void notify_disks() {
    for (BlockDevice& device : std::span(devices).first(device_count)) {
        push(device);
    }
}

} // namespace previrt::backend
