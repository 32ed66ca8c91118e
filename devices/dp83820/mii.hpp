// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/dp83820/phy.hpp"

#include <cstdint>

namespace previrt::dp83820 {

// The PHY's end of the management interface of clause 22: MDC and MDIO.
struct Mii {
    enum class Phase : std::uint8_t { idle, start, command, reading, writing, skipping };

    Phase phase = Phase::idle;
    std::uint8_t count = 0; // bits of the phase so far
    std::uint16_t shifted = 0;
    std::uint8_t index = 0; // the register
    bool output = true;     // pulled up
    bool clock = false;

    // The levels of MDC and of MDIO as the MAC drives it; true if it does not drive it.
    void drive(bool clock_level, bool input, Phy& phy);

private:
    void clock_in(bool input, Phy& phy);
    void start_access(Phy& phy);
};

} // namespace previrt::dp83820
