// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/nvme/command.hpp"
#include "devices/nvme/medium.hpp"
#include "devices/nvme/status.hpp"

#include <cstdint>
#include <span>

namespace previrt::nvme {

// Of Identify, and of the largest log page.
inline constexpr std::size_t data_bytes = 4096;
using DataRoom = std::span<std::uint8_t, data_bytes>;

inline constexpr std::uint32_t most_event_requests = 4;
inline constexpr std::uint32_t error_log_entries = 4;
inline constexpr char firmware_revision[] = "1.0";

// Fills in the data structure that the command asks for.
Status identify(const Command& command, const Medium& medium, DataRoom room);

} // namespace previrt::nvme
