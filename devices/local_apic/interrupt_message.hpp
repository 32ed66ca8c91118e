// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/local_apic/apic_registers.hpp"

#include <cstdint>

namespace previrt {

// A message from a local APIC or an I/O APIC to local APICs.
struct InterruptMessage {
    // Only a local APIC sends to the last three.
    enum class Destination : std::uint8_t { physical, logical, self, all, all_but_self };

    Destination destination;
    std::uint8_t address; // physical or logical
    std::uint8_t vector;
    bool is_level_triggered; // the end of the interrupt goes to the I/O APICs
    DeliveryMode mode;
};

} // namespace previrt
