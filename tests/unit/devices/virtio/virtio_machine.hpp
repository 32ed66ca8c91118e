// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "tests/guests/harness/virtio.h"
#include "tests/unit/devices/dp83820/ram.hpp"

#include <cstdint>
#include <optional>
#include <utility>

namespace previrt {

// A virtio device, RAM, and the steps of a driver that all such devices have.
template <typename Device>
class VirtioMachine {
public:
    enum Flags : std::uint16_t { next = 1, write = 2, indirect = 4 };

    static constexpr std::uint64_t page = 4096;
    static constexpr std::uint64_t ram_bytes = 64 * page;
    static constexpr std::uint64_t indirect_tables = std::uint64_t{1} << 28U;
    static constexpr std::uint64_t version_1 = std::uint64_t{1} << 32U;
    static constexpr std::uint16_t linux_queues = 3; // without a gap
    // Of each queue.
    static constexpr std::uint16_t entries = 8;
    static constexpr std::uint64_t descriptors = 0x1000;
    static constexpr std::uint64_t available = 0x1400;
    static constexpr std::uint64_t used = 0x1800;
    static constexpr std::uint64_t queue_stride = 0x1000;

    void set(std::uint32_t offset, unsigned width, std::uint32_t value) {
        refused += device.write(offset, width, value) ? 0 : 1;
    }
    std::uint32_t get(std::uint32_t offset, unsigned width) {
        const std::optional<std::uint32_t> value = device.read(offset, width);
        refused += value ? 0 : 1;
        return value.value_or(0);
    }

    void accept(std::uint64_t features) {
        set(device_status, 1, 1);
        set(device_status, 1, 3);
        for (std::uint32_t half = 0; half < 2; ++half) {
            set(driver_feature_select, 4, half);
            set(driver_feature, 4, static_cast<std::uint32_t>(features >> (32U * half)));
        }
        set(device_status, 1, 11);
    }
    void enable_queue(std::uint16_t number) {
        const std::uint64_t first = number * queue_stride;
        set(queue_select, 2, number);
        set(queue_size, 2, entries);
        const std::pair<std::uint32_t, std::uint64_t> places[] = {
            {queue_desc, descriptors}, {queue_driver, available}, {queue_device, used}};
        for (const auto& [offset, address] : places) {
            set(offset, 4, static_cast<std::uint32_t>(first + address));
            set(offset + 4, 4, 0);
        }
        set(queue_enable, 2, 1);
    }
    // As Linux.
    void start(std::uint64_t features) {
        accept(features);
        for (std::uint16_t number = 0; number < linux_queues; ++number) {
            enable_queue(number);
        }
        set(device_status, 1, 15);
    }

    void put(std::uint64_t table, std::uint16_t index, std::uint64_t address, std::uint32_t bytes,
             std::uint16_t flags = 0, std::uint16_t following = 0) {
        const std::uint64_t at = table + (index * std::uint64_t{16});
        ram.store(at, address);
        ram.store(at + 8, bytes);
        ram.store(at + 12, flags);
        ram.store(at + 14, following);
    }
    void describe(std::uint16_t queue, std::uint16_t index, std::uint64_t address, std::uint32_t bytes,
                  std::uint16_t flags = 0, std::uint16_t following = 0) {
        put(descriptors + (queue * queue_stride), index, address, bytes, flags, following);
    }
    void offer(std::uint16_t queue, std::uint16_t head) {
        const std::uint64_t ring = available + (queue * queue_stride);
        const auto index = ram.load<std::uint16_t>(ring + 2);
        ram.store(ring + 4 + (std::uint64_t{2} * (index % entries)), head);
        ram.store(ring + 2, static_cast<std::uint16_t>(index + 1));
    }
    std::uint16_t used_index(std::uint16_t queue) {
        return ram.load<std::uint16_t>(used + (queue * queue_stride) + 2);
    }
    bool needs_reset() { return (get(device_status, 1) & 64U) != 0; }

    Ram ram{ram_bytes};
    Device device;
    unsigned refused = 0; // accesses
};

} // namespace previrt
