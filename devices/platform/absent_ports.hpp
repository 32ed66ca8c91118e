// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// ISA devices that guests probe and that this PC lacks: reads float high, writes are lost.
struct AbsentPorts {
    const char* name;
    std::uint16_t first;
    std::uint16_t last;
};

// nullptr: none of them.
const AbsentPorts* find_absent(std::uint16_t port);

} // namespace previrt
