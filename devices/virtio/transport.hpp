// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/virtio/split_queue.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

namespace previrt::virtio {

inline constexpr std::uint64_t feature_indirect = std::uint64_t{1} << 28U;
inline constexpr std::uint64_t feature_version_1 = std::uint64_t{1} << 32U;

inline constexpr std::uint8_t status_acknowledge = 1;
inline constexpr std::uint8_t status_driver = 2;
inline constexpr std::uint8_t status_driver_ok = 4;
inline constexpr std::uint8_t status_features_ok = 8;
inline constexpr std::uint8_t status_needs_reset = 64;
inline constexpr std::uint8_t status_failed = 128;

// What all virtio devices have in common: the registers of a modern device on the PCI bus, its features and
// its queues. A device has one, and hands it all accesses below `configuration_offset`.
struct Transport {
    static constexpr unsigned most_queues = 16;
    // In the BAR, as the function's capabilities say.
    static constexpr std::uint32_t status_offset = 0x14;
    static constexpr std::uint32_t interrupt_status_offset = 0x38;
    static constexpr std::uint32_t notify_offset = 0x3c; // of all queues
    static constexpr std::uint32_t configuration_offset = 0x40;
    static constexpr std::uint32_t common_bytes = 0x38;

    std::uint64_t offered = 0; // features
    std::uint64_t accepted = 0;
    std::uint32_t offered_half = 0; // that the driver sees: 0 or 1
    std::uint32_t accepted_half = 0;
    std::array<SplitQueue, most_queues> queues{};
    std::uint16_t queue_count = 0; // with those that do not exist in between
    std::uint16_t chosen_queue = 0;
    std::uint16_t notified = 0;        // a bit for each queue
    std::uint16_t existing = 0;        // likewise
    std::uint16_t largest_queue = 0;   // its entries
    std::uint8_t interrupt_status = 0; // bit 0: buffers were used; bit 1: the configuration has changed
    std::uint8_t status = 0;

    // Called once on a new one. A bit of `existing_queues` for each queue that there is. Only a device that
    // never looks into its queues may have more entries than SplitQueue::most_descriptors.
    void start(std::uint64_t features, std::uint16_t existing_queues,
               std::uint16_t queue_entries = SplitQueue::most_descriptors);

    // nullopt, false: the driver must not do that, and the VMM must stop the guest.
    std::optional<std::uint32_t> read(std::uint32_t offset, unsigned width);
    bool write(std::uint32_t offset, unsigned width, std::uint32_t value);

    [[nodiscard]] bool is_running() const {
        return (status & status_driver_ok) != 0 && (status & status_needs_reset) == 0;
    }
    // An enabled queue of a running device; nullptr: there is none of this number.
    [[nodiscard]] SplitQueue* running_queue(unsigned number);
    // A notified queue of a running device. Calling it takes the notification.
    [[nodiscard]] SplitQueue* take_notified(unsigned number);
    [[nodiscard]] BufferChain chain(const SplitQueue& queue, std::uint16_t head) const {
        return {queue, head, (accepted & feature_indirect) != 0};
    }
    // Buffers of this queue were given back.
    void tell_used(const GuestMemory& memory, const SplitQueue& queue);
    // The same, of a queue whose driver wants an interrupt.
    void tell_used();
    // The driver has broken a rule: until its reset, the device does nothing more.
    void fail();
    [[nodiscard]] bool interrupt_line() const { return interrupt_status != 0; }

private:
    void reset();
    [[nodiscard]] bool exists(unsigned number) const { return ((existing >> number) & 1U) != 0; }
    void write_status(std::uint8_t value);
    void write_accepted(std::uint32_t value);
    [[nodiscard]] SplitQueue* chosen();
    bool write_queue(std::uint32_t offset, std::uint32_t value);
    [[nodiscard]] std::uint32_t read_queue(std::uint32_t offset);
};

static_assert(std::is_trivially_copyable_v<Transport>);

} // namespace previrt::virtio
