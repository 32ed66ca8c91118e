// SPDX-License-Identifier: BSD-2-Clause
#include "devices/local_apic/local_apic.hpp"

#include <algorithm>
#include <bit>

namespace previrt {

namespace {

using Vectors = std::array<std::uint32_t, 8>;

constexpr std::uint32_t lowest_vector = 16; // those below are exceptions
constexpr std::uint32_t priority_class = 0xf0;
constexpr std::uint32_t vector_bits = 0xff;
constexpr std::uint64_t register_step = 0x10;
constexpr std::uint32_t command_bits = 0xccfff;
constexpr std::uint32_t highest_byte = 0xff000000;
constexpr unsigned address_shift = 24;

void set(Vectors& vectors, std::uint8_t vector) {
    vectors[vector / 32U] |= 1U << (vector % 32U);
}

void clear(Vectors& vectors, std::uint8_t vector) {
    vectors[vector / 32U] &= ~(1U << (vector % 32U));
}

bool has(const Vectors& vectors, std::uint8_t vector) {
    return (vectors[vector / 32U] >> (vector % 32U) & 1U) != 0;
}

std::optional<std::uint8_t> highest(const Vectors& vectors) {
    // The frequent case first: there is no request.
    if (std::bit_cast<std::array<std::uint64_t, 4>>(vectors) == std::array<std::uint64_t, 4>{}) {
        return std::nullopt;
    }
    for (std::size_t i = vectors.size(); i-- > 0;) {
        if (vectors[i] != 0) {
            return static_cast<std::uint8_t>((i * 32) + static_cast<unsigned>(std::bit_width(vectors[i])) -
                                             1);
        }
    }
    return std::nullopt;
}

// The writable bits of each. The pins' request and status bits are never set.
constexpr std::array<std::uint32_t, local_vector_count> local_vector_bits = {0x700ff, 0x107ff, 0x107ff,
                                                                             0x1a7ff, 0x1a7ff, 0x100ff};

std::optional<LocalVector> local_vector_at(std::uint64_t offset) {
    if (offset < apic_timer_vector || offset > apic_error_vector) {
        return std::nullopt;
    }
    return static_cast<LocalVector>((offset - apic_timer_vector) / register_step);
}

// The index of `offset` among `first` and the seven registers behind it.
std::optional<std::size_t> index_from(std::uint64_t first, std::uint64_t offset) {
    const std::uint64_t index = (offset - first) / register_step;
    return offset >= first && index < std::tuple_size_v<Vectors> ? std::optional(index) : std::nullopt;
}

} // namespace

void LocalApic::start(std::uint8_t number, bool is_boot_processor) {
    id = std::uint32_t{number} << address_shift;
    base = place | base_enabled | (is_boot_processor ? std::uint64_t{base_boot_processor} : 0);
    reset();
    waits_for_start = !is_boot_processor;
    if (is_boot_processor) {
        spurious_vector = vector_bits | spurious_vector_on;
        local_vector(pin0_vector_entry) = deliver_external;
        local_vector(pin1_vector_entry) = deliver_nmi;
    }
}

// IA32_APIC_BASE and the ID stay.
void LocalApic::reset() {
    *this = {.base = base, .id = id};
    destination_format = ~0U;
    spurious_vector = vector_bits;
    local_vectors.fill(local_vector_masked);
}

std::uint32_t LocalApic::processor_priority() const {
    const std::uint32_t served = highest(in_service).value_or(0) & priority_class;
    return (task_priority & priority_class) >= served ? task_priority : served;
}

std::optional<std::uint8_t> LocalApic::highest_request() const {
    const std::optional<std::uint8_t> vector = is_enabled() ? highest(requests) : std::nullopt;
    return vector && (*vector & priority_class) > (processor_priority() & priority_class) ? vector
                                                                                          : std::nullopt;
}

std::uint8_t LocalApic::acknowledge() {
    const std::optional<std::uint8_t> vector = highest_request();
    if (!vector) {
        return static_cast<std::uint8_t>(spurious_vector);
    }
    clear(requests, *vector);
    set(in_service, *vector);
    return *vector;
}

std::optional<std::uint8_t> LocalApic::end_interrupt() {
    const std::optional<std::uint8_t> vector = highest(in_service);
    if (!vector) {
        return std::nullopt;
    }
    clear(in_service, *vector);
    return has(triggers, *vector) ? vector : std::nullopt;
}

void LocalApic::request(std::uint8_t vector, bool is_level_triggered) {
    if (vector < lowest_vector) {
        note_error(error_receive_illegal_vector);
        return;
    }
    set(requests, vector);
    if (is_level_triggered) {
        set(triggers, vector);
    } else {
        clear(triggers, vector);
    }
}

void LocalApic::note_error(std::uint32_t error) {
    const bool is_new = (new_errors & error) == 0;
    new_errors |= error;
    const std::uint32_t entry = local_vectors[error_vector_entry];
    const std::uint32_t vector = entry & vector_bits;
    // If the error entry itself has an illegal vector, that error is noted already.
    if (is_new && (entry & local_vector_masked) == 0 && vector >= lowest_vector) {
        set(requests, static_cast<std::uint8_t>(vector));
    }
}

bool LocalApic::passes_external() const {
    const std::uint32_t entry = local_vectors[pin0_vector_entry];
    return !is_enabled() ||
           ((entry & local_vector_masked) == 0 && (entry & local_vector_mode) == deliver_external);
}

void LocalApic::advance(std::uint64_t now) {
    const std::uint32_t entry = local_vectors[timer_vector_entry];
    if (timer.advance(now) && (entry & local_vector_masked) == 0) {
        request(static_cast<std::uint8_t>(entry));
    }
}

std::optional<std::uint64_t> LocalApic::next_event() const {
    const bool interrupts = timer.runs && (local_vectors[timer_vector_entry] & local_vector_masked) == 0;
    return interrupts ? std::optional(timer.due) : std::nullopt;
}

void LocalApic::write_deadline(std::uint64_t deadline, std::uint64_t due) {
    timer.write_deadline(deadline, due);
}

LocalApic::BaseWrite LocalApic::write_base(std::uint64_t value) {
    constexpr std::uint64_t defined = base_boot_processor | base_enabled | (0xffffffffffU & ~0xfffU);
    if ((value & ~defined) != 0) {
        return BaseWrite::refused;
    }
    if (((value ^ base) & ~std::uint64_t{base_enabled}) != 0) {
        return BaseWrite::not_modelled; // at another address, or of another boot processor
    }
    if (((value ^ base) & base_enabled) != 0) {
        reset();
    }
    base = value;
    return BaseWrite::done;
}

std::optional<std::uint32_t> LocalApic::read(std::uint64_t offset, std::uint64_t now) {
    if (offset % register_step != 0 || offset >= place_bytes) {
        return std::nullopt;
    }
    advance(now);
    const std::optional<std::uint32_t> value = read_register(offset, now);
    if (!value) {
        note_error(error_illegal_register);
    }
    return value.value_or(0);
}

std::optional<std::uint32_t> LocalApic::read_register(std::uint64_t offset, std::uint64_t now) const {
    if (const auto vector = local_vector_at(offset)) {
        return local_vectors[*vector];
    }
    if (const auto index = index_from(apic_in_service, offset)) {
        return in_service[*index];
    }
    if (const auto index = index_from(apic_trigger_mode, offset)) {
        return triggers[*index];
    }
    if (const auto index = index_from(apic_request, offset)) {
        return requests[*index];
    }
    switch (offset) {
    case apic_id:
        return id;
    case apic_version:
        return apic_version_value;
    case apic_task_priority:
        return task_priority;
    case apic_processor_priority:
        return processor_priority();
    case apic_arbitration_priority:
    case apic_remote_read:
    case apic_end_of_interrupt:
        return 0;
    case apic_logical_destination:
        return logical_destination;
    case apic_destination_format:
        return destination_format;
    case apic_spurious_vector:
        return spurious_vector;
    case apic_error_status:
        return errors;
    case apic_command_low:
        return command_low;
    case apic_command_high:
        return command_high;
    case apic_initial_count:
        return timer.initial_count;
    case apic_current_count:
        return timer.current_count(now);
    case apic_divide:
        return timer.divide;
    default:
        return std::nullopt;
    }
}

bool LocalApic::write(std::uint64_t offset, std::uint32_t value, std::uint64_t now) {
    if (offset % register_step != 0 || offset >= place_bytes) {
        return false;
    }
    advance(now);
    if (const auto vector = local_vector_at(offset)) {
        return write_local_vector(*vector, value);
    }
    switch (offset) {
    case apic_id:
        id = value & highest_byte;
        return true;
    case apic_task_priority:
        task_priority = value & vector_bits;
        return true;
    case apic_end_of_interrupt:
        return true; // end_interrupt()
    case apic_logical_destination:
        logical_destination = value & highest_byte;
        return true;
    case apic_destination_format:
        destination_format = value | 0x0fffffffU;
        return true;
    case apic_spurious_vector:
        write_spurious_vector(value);
        return true;
    case apic_error_status:
        errors = new_errors;
        new_errors = 0;
        return true;
    case apic_command_low:
        command_low = value & command_bits;
        return true; // command()
    case apic_command_high:
        command_high = value & highest_byte;
        return true;
    case apic_initial_count:
        timer.write_initial_count(value, now);
        return true;
    case apic_divide:
        timer.write_divide(value, now);
        return true;
    default:
        // Read-only registers too.
        if (!read_register(offset, now)) {
            note_error(error_illegal_register);
        }
        return true;
    }
}

void LocalApic::write_spurious_vector(std::uint32_t value) {
    constexpr std::uint32_t defined = 0x3ff;
    spurious_vector = value & defined;
    if (!is_on()) {
        for (std::uint32_t& entry : local_vectors) {
            entry |= local_vector_masked;
        }
    }
}

bool LocalApic::write_local_vector(LocalVector which, std::uint32_t value) {
    value &= local_vector_bits[which];
    value |= is_on() ? 0 : std::uint32_t{local_vector_masked};
    const bool is_masked = (value & local_vector_masked) != 0;
    // Only the 8259s' INTR reaches the pin: as an interrupt with a vector of its own it is not modelled.
    if (which == pin0_vector_entry && !is_masked && (value & local_vector_mode) != deliver_external) {
        return false;
    }
    if (which == timer_vector_entry) {
        const auto mode = static_cast<ApicTimer::Mode>((value >> 17U) & 3U);
        if (mode == ApicTimer::Mode::reserved) {
            return false;
        }
        timer.set_mode(mode);
    }
    local_vectors[which] = value;
    return true;
}

std::optional<InterruptMessage> LocalApic::command() {
    constexpr std::uint32_t logical = 1U << 11U;
    constexpr std::uint32_t assert_level = 1U << 14U;
    const auto mode = static_cast<DeliveryMode>(command_low & local_vector_mode);
    const bool is_fixed = mode == deliver_fixed || mode == deliver_lowest_priority;
    if (is_fixed && (command_low & vector_bits) < lowest_vector) {
        note_error(error_send_illegal_vector);
        return std::nullopt;
    }
    if (mode == deliver_init && (command_low & assert_level) == 0) {
        return std::nullopt; // for the arbitration of old buses
    }
    using Destination = InterruptMessage::Destination;
    constexpr Destination shorthands[] = {Destination::physical, Destination::self, Destination::all,
                                          Destination::all_but_self};
    Destination destination = shorthands[command_low >> 18U & 3U];
    if (destination == Destination::physical && (command_low & logical) != 0) {
        destination = Destination::logical;
    }
    return InterruptMessage{.destination = destination,
                            .address = static_cast<std::uint8_t>(command_high >> address_shift),
                            .vector = static_cast<std::uint8_t>(command_low),
                            .is_level_triggered = false,
                            .mode = mode};
}

bool LocalApic::is_addressed(const InterruptMessage& message) const {
    const std::uint32_t destination = std::uint32_t{message.address} << address_shift;
    if (message.destination == InterruptMessage::Destination::physical) {
        return destination == highest_byte || destination == id;
    }
    constexpr std::uint32_t highest_bits = 0xf0000000;
    const bool is_flat = (destination_format & highest_bits) == highest_bits;
    if (is_flat) {
        return (destination & logical_destination) != 0;
    }
    const std::uint32_t cluster = destination & highest_bits;
    return (cluster == (logical_destination & highest_bits) || cluster == highest_bits) &&
           (destination & logical_destination & ~highest_bits) != 0;
}

bool LocalApic::receive(const InterruptMessage& message) {
    if (!is_enabled()) {
        return true;
    }
    switch (message.mode) {
    case deliver_fixed:
    case deliver_lowest_priority:
        if (!waits_for_start) {
            request(message.vector, message.is_level_triggered);
        }
        return true;
    case deliver_nmi:
        nmi_requested = nmi_requested || !waits_for_start;
        return true;
    case deliver_init:
        if ((base & base_boot_processor) != 0) {
            return false; // it would begin at the reset vector
        }
        reset();
        reset_requested = true;
        waits_for_start = true;
        return true;
    case deliver_start:
        if (waits_for_start) {
            waits_for_start = false;
            start_requested = true;
            start_vector = message.vector;
        }
        return true;
    default:
        return false;
    }
}

} // namespace previrt
