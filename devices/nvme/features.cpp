// SPDX-License-Identifier: BSD-2-Clause
#include "devices/nvme/features.hpp"

#include <algorithm>

namespace previrt::nvme {

namespace {

// CDW11 of the temperature threshold: the sensor, and the kind of threshold.
constexpr bool is_composite(std::uint32_t value) {
    return ((value >> 16U) & 0xfU) == 0;
}
constexpr std::uint32_t threshold_kind(std::uint32_t value) {
    return (value >> 20U) & 3U;
}
constexpr bool is_under(std::uint32_t value) {
    return threshold_kind(value) == 1;
}

constexpr std::uint32_t vector_of(std::uint32_t value) {
    return value & 0xffffU;
}

constexpr std::uint32_t deallocated_error = 1U << 16U;

} // namespace

std::optional<std::uint32_t> Features::get(std::uint32_t identifier, std::uint32_t cdw11,
                                           bool has_write_cache) const {
    switch (static_cast<FeatureIdentifier>(identifier)) {
    case FeatureIdentifier::arbitration:
        return arbitration;
    case FeatureIdentifier::power_management:
        return 0;
    case FeatureIdentifier::temperature_threshold:
        if (!is_composite(cdw11) || threshold_kind(cdw11) > 1) {
            return std::nullopt;
        }
        return is_under(cdw11) ? under_temperature : over_temperature;
    case FeatureIdentifier::error_recovery:
        return error_recovery;
    case FeatureIdentifier::volatile_write_cache:
        return has_write_cache ? std::optional<std::uint32_t>(caches_writes ? 1 : 0) : std::nullopt;
    case FeatureIdentifier::number_of_queues:
        return number_of_queues();
    case FeatureIdentifier::interrupt_coalescing:
        return interrupt_coalescing;
    case FeatureIdentifier::interrupt_vector_configuration:
        return vector_of(cdw11) == 0 ? std::optional(interrupt_vector_configuration) : std::nullopt;
    case FeatureIdentifier::write_atomicity_normal:
        return write_atomicity_normal;
    case FeatureIdentifier::asynchronous_event_configuration:
        return asynchronous_event_configuration;
    }
    return std::nullopt;
}

Status Features::set(std::uint32_t identifier, std::uint32_t value, bool has_write_cache) {
    switch (static_cast<FeatureIdentifier>(identifier)) {
    case FeatureIdentifier::arbitration:
        arbitration = value;
        return Status::success;
    case FeatureIdentifier::power_management:
        return (value & 0x1fU) == 0 ? Status::success : Status::invalid_field; // the only power state
    case FeatureIdentifier::temperature_threshold:
        return set_threshold(value);
    case FeatureIdentifier::error_recovery:
        if ((value & deallocated_error) != 0) {
            return Status::invalid_field;
        }
        error_recovery = value & 0xffffU;
        return Status::success;
    case FeatureIdentifier::volatile_write_cache:
        if (!has_write_cache) {
            return Status::invalid_field;
        }
        caches_writes = (value & 1U) != 0;
        return Status::success;
    case FeatureIdentifier::number_of_queues:
        return set_number_of_queues(value);
    case FeatureIdentifier::interrupt_coalescing:
        interrupt_coalescing = value & 0xffffU;
        return Status::success;
    case FeatureIdentifier::interrupt_vector_configuration:
        if (vector_of(value) != 0) {
            return Status::invalid_field;
        }
        interrupt_vector_configuration = value & 0x1'0000U;
        return Status::success;
    case FeatureIdentifier::write_atomicity_normal:
        write_atomicity_normal = value & 1U;
        return Status::success;
    case FeatureIdentifier::asynchronous_event_configuration:
        asynchronous_event_configuration = value; // FreeBSD wants notices that never come here
        return Status::success;
    }
    return Status::invalid_field;
}

Status Features::set_threshold(std::uint32_t value) {
    if (!is_composite(value) || threshold_kind(value) > 1) {
        return Status::invalid_field;
    }
    (is_under(value) ? under_temperature : over_temperature) = static_cast<std::uint16_t>(value);
    return Status::success;
}

Status Features::set_number_of_queues(std::uint32_t value) {
    const std::uint32_t submission = value & 0xffffU;
    const std::uint32_t completion = value >> 16U;
    if (submission == 0xffff || completion == 0xffff) {
        return Status::invalid_field;
    }
    submission_queues = static_cast<std::uint16_t>(std::min(submission + 1, most_queues));
    completion_queues = static_cast<std::uint16_t>(std::min(completion + 1, most_queues));
    return Status::success;
}

} // namespace previrt::nvme
