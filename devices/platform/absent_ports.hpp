// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// ISA devices that guests look for and that this PC has not: reads float high, writes are lost.
struct AbsentPorts {
    const char* name;
    std::uint16_t first;
    std::uint16_t last;
};

// nullptr: not one of them.
const AbsentPorts* find_absent(std::uint16_t port);

} // namespace previrt
