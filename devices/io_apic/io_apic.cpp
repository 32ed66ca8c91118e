// SPDX-License-Identifier: BSD-2-Clause
#include "devices/io_apic/io_apic.hpp"

#include <bit>

namespace previrt {

namespace {

enum Offset : std::uint8_t { select_register = 0x00, window_register = 0x10, end_register = 0x40 };
enum Register : std::uint8_t {
    id_register = 0,
    version_register = 1,
    arbitration_register = 2,
    first_entry = 0x10
};

constexpr std::uint32_t version_value = (IoApic::pins - 1) << 16U | IoApic::version;
constexpr std::uint32_t id_bits = 0x0f000000;

constexpr std::uint64_t entry_logical = 1U << 11U;
constexpr std::uint64_t entry_remote_request = 1U << 14U; // from a message to the end of its interrupt
constexpr std::uint64_t entry_level = 1U << 15U;
constexpr std::uint64_t entry_masked = 1U << 16U;
// Of the lower half. The others are the device's: remote request and delivery status, which is never set.
constexpr std::uint64_t entry_writable = 0x1afff;
constexpr unsigned half_bits = 32;
constexpr unsigned address_shift = 56;

DeliveryMode mode_of(std::uint64_t entry) {
    return static_cast<DeliveryMode>(static_cast<std::uint32_t>(entry) & local_vector_mode);
}

bool is_modelled(std::uint64_t entry) {
    const DeliveryMode mode = mode_of(entry);
    return (entry & entry_masked) != 0 || mode == deliver_fixed || mode == deliver_lowest_priority ||
           mode == deliver_nmi;
}

} // namespace

void IoApic::start() {
    *this = {.exists = true};
    entries.fill(entry_masked);
}

bool IoApic::passes(unsigned pin) const {
    return exists && (entries[pin] & entry_masked) == 0;
}

bool IoApic::can_send_nmi() const {
    for (unsigned pin = 0; pin < pins; ++pin) {
        if (passes(pin) && mode_of(entries[pin]) == deliver_nmi) {
            return true;
        }
    }
    return false;
}

// An NMI is an edge, whatever the entry says.
bool IoApic::is_level_triggered(unsigned pin) const {
    const std::uint64_t entry = entries[pin];
    return (entry & entry_level) != 0 && mode_of(entry) != deliver_nmi;
}

void IoApic::update(unsigned pin) {
    const std::uint32_t bit = 1U << pin;
    const bool waits = (entries[pin] & entry_remote_request) != 0;
    const bool is_due = is_level_triggered(pin) ? (lines & bit) != 0 && !waits : (edges & bit) != 0;
    ready = passes(pin) && is_due ? ready | bit : ready & ~bit;
}

void IoApic::set_line(unsigned pin, bool asserted) {
    const std::uint32_t bit = 1U << pin;
    if (((lines & bit) != 0) == asserted) {
        return;
    }
    lines ^= bit;
    // The chip forgets an edge that comes while its pin is masked.
    if (asserted && passes(pin) && !is_level_triggered(pin)) {
        edges |= bit;
    }
    update(pin);
}

std::optional<InterruptMessage> IoApic::next_message() {
    if (ready == 0) {
        return std::nullopt;
    }
    const auto pin = static_cast<unsigned>(std::countr_zero(ready));
    std::uint64_t& entry = entries[pin];
    const bool is_level = is_level_triggered(pin);
    if (is_level) {
        entry |= entry_remote_request;
    }
    edges &= ~(1U << pin);
    update(pin);
    const bool is_logical = (entry & entry_logical) != 0;
    return InterruptMessage{.destination = is_logical ? InterruptMessage::Destination::logical
                                                      : InterruptMessage::Destination::physical,
                            .address = static_cast<std::uint8_t>(entry >> address_shift),
                            .vector = static_cast<std::uint8_t>(entry),
                            .is_level_triggered = is_level,
                            .mode = mode_of(entry)};
}

void IoApic::end_interrupt(std::uint8_t vector) {
    for (unsigned pin = 0; pin < pins; ++pin) {
        const bool is_ended =
            (entries[pin] & entry_remote_request) != 0 && static_cast<std::uint8_t>(entries[pin]) == vector;
        if (is_ended) {
            entries[pin] &= ~entry_remote_request;
            update(pin);
        }
    }
}

std::optional<std::uint32_t> IoApic::read(std::uint64_t offset) const {
    switch (offset) {
    case select_register:
        return select;
    case window_register:
        return read_window();
    default:
        return std::nullopt;
    }
}

std::uint32_t IoApic::read_window() const {
    switch (select) {
    case id_register:
    case arbitration_register:
        return id;
    case version_register:
        return version_value;
    default:
        break;
    }
    const unsigned pin = (select - first_entry) / 2U;
    if (select < first_entry || pin >= pins) {
        return 0;
    }
    return static_cast<std::uint32_t>(entries[pin] >> (select % 2U * half_bits));
}

bool IoApic::write(std::uint64_t offset, std::uint32_t value) {
    switch (offset) {
    case select_register:
        select = static_cast<std::uint8_t>(value);
        return true;
    case window_register:
        return write_window(value);
    case end_register:
        end_interrupt(static_cast<std::uint8_t>(value));
        return true;
    default:
        return false;
    }
}

bool IoApic::write_window(std::uint32_t value) {
    if (select == id_register) {
        id = value & id_bits;
        return true;
    }
    const unsigned pin = (select - first_entry) / 2U;
    const bool is_entry = select >= first_entry && pin < pins;
    return !is_entry || write_entry(pin, select % 2 != 0, value);
}

bool IoApic::write_entry(unsigned pin, bool upper_half, std::uint32_t value) {
    constexpr std::uint64_t lower_half = 0xffffffff;
    std::uint64_t entry = entries[pin];
    if (upper_half) {
        entry = (entry & lower_half) | std::uint64_t{value} << half_bits;
    } else {
        entry = (entry & ~entry_writable) | (value & entry_writable);
        // Drivers end an interrupt by making its pin edge triggered for a moment.
        entry &= (entry & entry_level) != 0 ? ~std::uint64_t{0} : ~entry_remote_request;
    }
    if (!is_modelled(entry)) {
        return false;
    }
    entries[pin] = entry;
    update(pin);
    return true;
}

} // namespace previrt
