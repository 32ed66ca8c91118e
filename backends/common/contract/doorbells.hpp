// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>

namespace previrt::monitored {

// Numbers by which a VMM counts its doorbells, beyond those of its other calls of the host.
enum CountedDoorbell : std::uint16_t {
    doorbell_of_console = 0x100,
    doorbell_of_packets,
    doorbell_of_disks,
    doorbell_of_folders,
    end_of_doorbells,
};
constexpr std::array<const char*, end_of_doorbells - doorbell_of_console> doorbell_names = {
    "doorbell of the console", "doorbell of the network", "doorbell of a disk", "doorbell of a folder"};

} // namespace previrt::monitored
