// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/nvme/status.hpp"

#include <cstdint>
#include <optional>

namespace previrt::nvme {

enum class FeatureIdentifier : std::uint8_t {
    arbitration = 0x01,
    power_management = 0x02,
    temperature_threshold = 0x04,
    error_recovery = 0x05,
    volatile_write_cache = 0x06,
    number_of_queues = 0x07,
    interrupt_coalescing = 0x08,
    interrupt_vector_configuration = 0x09,
    write_atomicity_normal = 0x0a,
    asynchronous_event_configuration = 0x0b,
};

// In kelvins. A disk that is a file is as warm as a room.
inline constexpr std::uint16_t temperature = 296;
inline constexpr std::uint16_t warning_temperature = 343;
inline constexpr std::uint16_t critical_temperature = 373;

// The values that Set Features leaves, as CDW11 has them. None of them survives a reset of the controller.
// Arbitration, error recovery, coalescing and write atomicity are hints, which this controller has no use
// for.
struct Features {
    static constexpr std::uint32_t most_queues = 16; // pairs for I/O

    std::uint32_t arbitration = 0;
    std::uint32_t error_recovery = 0;
    std::uint32_t interrupt_coalescing = 0;
    std::uint32_t interrupt_vector_configuration = 0;
    std::uint32_t write_atomicity_normal = 0;
    std::uint32_t asynchronous_event_configuration = 0;
    std::uint16_t over_temperature = warning_temperature;
    std::uint16_t under_temperature = 0;
    std::uint16_t submission_queues = most_queues;
    std::uint16_t completion_queues = most_queues;
    bool caches_writes = true;

    static constexpr bool is_of_namespace(std::uint32_t identifier) {
        return identifier == static_cast<std::uint32_t>(FeatureIdentifier::error_recovery);
    }
    // The value of Get Features. nullopt: there is no such feature.
    [[nodiscard]] std::optional<std::uint32_t> get(std::uint32_t identifier, std::uint32_t cdw11,
                                                   bool has_write_cache) const;
    Status set(std::uint32_t identifier, std::uint32_t value, bool has_write_cache);
    [[nodiscard]] std::uint32_t number_of_queues() const {
        return (submission_queues - 1U) | ((completion_queues - 1U) << 16U);
    }
    // As Critical Warning of the health log has it.
    [[nodiscard]] std::uint8_t critical_warning() const {
        constexpr std::uint8_t temperature_threshold = 2;
        return temperature >= over_temperature || temperature <= under_temperature ? temperature_threshold
                                                                                   : 0;
    }

private:
    Status set_threshold(std::uint32_t value);
    Status set_number_of_queues(std::uint32_t value);
};

} // namespace previrt::nvme
