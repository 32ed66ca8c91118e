// SPDX-License-Identifier: BSD-2-Clause
// The registers of section 4.1.4 of the specification.
#include "devices/virtio/transport.hpp"

namespace previrt::virtio {

namespace {

constexpr std::uint16_t no_vector = 0xffff; // of MSI-X, which there is not
constexpr std::uint8_t interrupt_used = 1;
constexpr std::uint8_t interrupt_configuration = 2;
constexpr std::uint8_t status_of_driver =
    status_acknowledge | status_driver | status_driver_ok | status_features_ok | status_failed;

enum At : std::uint8_t {
    device_feature_select = 0x00,
    device_feature = 0x04,
    driver_feature_select = 0x08,
    driver_feature = 0x0c,
    config_msix_vector = 0x10,
    num_queues = 0x12,
    device_status = Transport::status_offset,
    config_generation = 0x15,
    queue_select = 0x16,
    queue_size = 0x18,
    queue_msix_vector = 0x1a,
    queue_enable = 0x1c,
    queue_notify_off = 0x1e,
    queue_desc = 0x20,
    queue_driver = 0x28,
    queue_device = 0x30,
};

// The driver uses each register's own width; those of 64 bits are two of 32.
constexpr unsigned width_at(std::uint32_t offset) {
    switch (offset) {
    case device_feature_select:
    case device_feature:
    case driver_feature_select:
    case driver_feature:
    case queue_desc:
    case queue_desc + 4U:
    case queue_driver:
    case queue_driver + 4U:
    case queue_device:
    case queue_device + 4U:
        return 4;
    case device_status:
    case config_generation:
    case Transport::interrupt_status_offset:
        return 1;
    case config_msix_vector:
    case num_queues:
    case queue_select:
    case queue_size:
    case queue_msix_vector:
    case queue_enable:
    case queue_notify_off:
    case Transport::notify_offset:
        return 2;
    default:
        return 0;
    }
}

std::uint32_t half(std::uint64_t value, std::uint32_t which) {
    return which < 2 ? static_cast<std::uint32_t>(value >> (32U * which)) : 0;
}

void set_half(std::uint64_t& whole, std::uint32_t which, std::uint32_t new_half) {
    const unsigned shift = 32U * which;
    whole = (whole & ~(std::uint64_t{0xffff'ffff} << shift)) | (std::uint64_t{new_half} << shift);
}

// Of the descriptors, the available ring or the used ring.
std::uint64_t& address_register(SplitQueue& queue, std::uint32_t offset) {
    if (offset < queue_driver) {
        return queue.descriptors;
    }
    return offset < queue_device ? queue.available : queue.used;
}

} // namespace

void Transport::start(std::uint64_t features, std::uint16_t existing_queues, std::uint16_t queue_entries) {
    offered = features | feature_version_1 | feature_indirect;
    existing = existing_queues;
    largest_queue = queue_entries;
    for (std::uint16_t number = 0; number < most_queues; ++number) {
        queue_count = exists(number) ? static_cast<std::uint16_t>(number + 1) : queue_count;
    }
    reset();
}

void Transport::reset() {
    accepted = 0;
    offered_half = 0;
    accepted_half = 0;
    for (std::uint16_t number = 0; number < most_queues; ++number) {
        queues[number] = {};
        queues[number].size = exists(number) ? largest_queue : std::uint16_t{0};
    }
    chosen_queue = 0;
    notified = 0;
    interrupt_status = 0;
    status = 0;
}

SplitQueue* Transport::chosen() {
    return chosen_queue < most_queues && queues[chosen_queue].size != 0 ? &queues[chosen_queue] : nullptr;
}

std::optional<std::uint32_t> Transport::read(std::uint32_t offset, unsigned width) {
    if (width != width_at(offset)) {
        return std::nullopt;
    }
    switch (offset) {
    case device_feature_select:
        return offered_half;
    case device_feature:
        return half(offered, offered_half);
    case driver_feature_select:
        return accepted_half;
    case driver_feature:
        return half(accepted, accepted_half);
    case config_msix_vector:
    case queue_msix_vector:
        return no_vector;
    case num_queues:
        return queue_count;
    case device_status:
        return status;
    case queue_select:
        return chosen_queue;
    case interrupt_status_offset: {
        const std::uint32_t value = interrupt_status;
        interrupt_status = 0;
        return value;
    }
    case config_generation: // no device changes its configuration
    case notify_offset:
        return 0;
    default:
        return read_queue(offset);
    }
}

// Of a queue that does not exist, all registers read 0.
std::uint32_t Transport::read_queue(std::uint32_t offset) {
    SplitQueue* const queue = chosen();
    if (queue == nullptr) {
        return 0;
    }
    switch (offset) {
    case queue_size:
        return queue->size;
    case queue_enable:
        return queue->is_enabled ? 1 : 0;
    case queue_notify_off:
        return 0; // all queues share the register
    default:
        break;
    }
    return half(address_register(*queue, offset), offset / 4 % 2);
}

bool Transport::write(std::uint32_t offset, unsigned width, std::uint32_t value) {
    if (width != width_at(offset)) {
        return false;
    }
    switch (offset) {
    case device_feature_select:
        offered_half = value;
        return true;
    case driver_feature_select:
        accepted_half = value;
        return true;
    case driver_feature:
        write_accepted(value);
        return true;
    case device_status:
        write_status(static_cast<std::uint8_t>(value));
        return true;
    case queue_select:
        chosen_queue = static_cast<std::uint16_t>(value);
        return true;
    case notify_offset:
        if (is_running() && value < queue_count && queues[value].is_enabled) {
            notified = static_cast<std::uint16_t>(notified | (1U << value));
        }
        return true;
    case queue_size:
    case queue_enable:
        return write_queue(offset, value);
    default:
        return offset < queue_desc || offset >= interrupt_status_offset || write_queue(offset, value);
    }
}

// The features are the device's once it has confirmed them.
void Transport::write_accepted(std::uint32_t value) {
    if ((status & status_features_ok) == 0 && accepted_half < 2) {
        set_half(accepted, accepted_half, value);
    }
}

// The driver sets bits, one after the other, and clears them all by a reset.
void Transport::write_status(std::uint8_t value) {
    if (value == 0) {
        reset();
        return;
    }
    const bool accepts = (accepted & ~offered) == 0 && (accepted & feature_version_1) != 0;
    std::uint8_t set = value & status_of_driver;
    if (!accepts) {
        set &= static_cast<std::uint8_t>(~status_features_ok);
    }
    if (((status | set) & status_features_ok) == 0) {
        set &= static_cast<std::uint8_t>(~status_driver_ok);
    }
    status |= set;
}

// An enabled queue stays as it is until the reset.
bool Transport::write_queue(std::uint32_t offset, std::uint32_t value) {
    SplitQueue* const queue = chosen();
    if (queue == nullptr || queue->is_enabled) {
        return true;
    }
    if (offset == queue_size) {
        const bool is_power = value != 0 && (value & (value - 1)) == 0;
        queue->size = is_power && value <= largest_queue ? static_cast<std::uint16_t>(value) : queue->size;
    } else if (offset == queue_enable) {
        if (value == 1 && !queue->enable()) {
            fail();
        }
    } else {
        set_half(address_register(*queue, offset), offset / 4 % 2, value);
    }
    return true;
}

SplitQueue* Transport::running_queue(unsigned number) {
    return is_running() && number < most_queues && queues[number].is_enabled ? &queues[number] : nullptr;
}

SplitQueue* Transport::take_notified(unsigned number) {
    const auto bit = static_cast<std::uint16_t>(1U << number);
    if (number >= most_queues || (notified & bit) == 0 || !is_running()) {
        return nullptr;
    }
    notified = static_cast<std::uint16_t>(notified & ~bit);
    return &queues[number];
}

void Transport::tell_used(const GuestMemory& memory, const SplitQueue& queue) {
    if (queue.wants_interrupt(memory)) {
        tell_used();
    }
}

void Transport::tell_used() {
    interrupt_status |= interrupt_used;
}

void Transport::fail() {
    if ((status & status_driver_ok) != 0) {
        interrupt_status |= interrupt_configuration;
    }
    status |= status_needs_reset;
    notified = 0;
}

} // namespace previrt::virtio
