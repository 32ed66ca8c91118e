// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/nvme/features.hpp"
#include "devices/nvme/identify.hpp"
#include "devices/nvme/status.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace previrt::nvme {

enum class LogPage : std::uint8_t {
    error_information = 1,
    health = 2,
    firmware_slot = 3,
    changed_namespaces = 4,
    commands_supported = 5,
};

// One failed command. Of a doorbell, queue and command are all ones.
struct ErrorEntry {
    std::uint64_t count = 0; // 0: there is no entry
    std::uint64_t lba = 0;
    std::uint32_t namespace_id = 0;
    std::uint16_t submission_queue = 0;
    std::uint16_t command = 0;
    std::uint16_t status = 0;
};

// What the log pages tell. It survives a reset of the controller.
struct Log {
    std::array<ErrorEntry, error_log_entries> errors{};
    std::uint64_t error_count = 0;
    std::uint64_t media_errors = 0;
    std::uint64_t bytes_read = 0;
    std::uint64_t bytes_written = 0;
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;

    void add_error(ErrorEntry entry);
    // Fills in the page, and returns its length. nullopt: there is no such page.
    [[nodiscard]] std::optional<std::uint32_t> page(std::uint32_t identifier, const Features& features,
                                                    const Medium& medium, DataRoom room) const;

private:
    void write_errors(DataRoom room) const;
    void write_health(const Features& features, DataRoom room) const;
};

static_assert(std::is_trivially_copyable_v<Log>);

} // namespace previrt::nvme
