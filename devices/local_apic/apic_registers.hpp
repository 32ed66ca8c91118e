// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

// Registers of the manual's chapter "Advanced Programmable Interrupt Controller".
namespace previrt {

enum ApicOffset : std::uint16_t {
    apic_id = 0x20,
    apic_version = 0x30,
    apic_task_priority = 0x80,
    apic_arbitration_priority = 0x90,
    apic_processor_priority = 0xa0,
    apic_end_of_interrupt = 0xb0,
    apic_remote_read = 0xc0,
    apic_logical_destination = 0xd0,
    apic_destination_format = 0xe0,
    apic_spurious_vector = 0xf0,
    apic_in_service = 0x100,
    apic_trigger_mode = 0x180,
    apic_request = 0x200,
    apic_error_status = 0x280,
    apic_command_low = 0x300,
    apic_command_high = 0x310,
    apic_timer_vector = 0x320,
    apic_thermal_vector = 0x330,
    apic_counters_vector = 0x340,
    apic_pin0_vector = 0x350,
    apic_pin1_vector = 0x360,
    apic_error_vector = 0x370,
    apic_initial_count = 0x380,
    apic_current_count = 0x390,
    apic_divide = 0x3e0,
};

// In the order of their registers.
enum LocalVector : std::uint8_t {
    timer_vector_entry,
    thermal_vector_entry,
    counters_vector_entry,
    pin0_vector_entry,
    pin1_vector_entry,
    error_vector_entry,
    local_vector_count,
};

enum ApicBase : std::uint64_t {
    base_boot_processor = 1U << 8U,
    base_x2apic = 1U << 10U,
    base_enabled = 1U << 11U,
};

enum LocalVectorBits : std::uint32_t {
    local_vector_mode = 7U << 8U,
    local_vector_masked = 1U << 16U,
};

enum DeliveryMode : std::uint32_t {
    deliver_fixed = 0U << 8U,
    deliver_lowest_priority = 1U << 8U,
    deliver_system_management = 2U << 8U,
    deliver_nmi = 4U << 8U,
    deliver_init = 5U << 8U,
    deliver_start = 6U << 8U,
    deliver_external = 7U << 8U,
};

enum ApicError : std::uint32_t {
    error_send_illegal_vector = 1U << 5U,
    error_receive_illegal_vector = 1U << 6U,
    error_illegal_register = 1U << 7U,
};

constexpr std::uint32_t spurious_vector_on = 1U << 8U;

// Six local vectors, integrated, no broadcast suppression.
constexpr std::uint32_t apic_version_value = 0x14 | (local_vector_count - 1U) << 16U;

} // namespace previrt
