// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "tests/unit/devices/dp83820/ram.hpp"

#include <cstdint>

namespace previrt {

// Descriptors as a driver writes them.
struct DescriptorLayout {
    bool wide = false;

    [[nodiscard]] std::uint64_t cmdsts_at(std::uint64_t address) const { return address + (wide ? 16 : 8); }

    void write(Ram& ram, std::uint64_t address, std::uint64_t link, std::uint64_t buffer,
               std::uint32_t cmdsts, std::uint32_t extsts = 0) const {
        if (wide) {
            ram.store(address, link);
            ram.store(address + 8, buffer);
        } else {
            ram.store(address, static_cast<std::uint32_t>(link));
            ram.store(address + 4, static_cast<std::uint32_t>(buffer));
        }
        ram.store(cmdsts_at(address) + 4, extsts);
        ram.store(cmdsts_at(address), cmdsts);
    }
    [[nodiscard]] std::uint32_t cmdsts(Ram& ram, std::uint64_t address) const {
        return ram.load<std::uint32_t>(cmdsts_at(address));
    }
    [[nodiscard]] std::uint32_t extsts(Ram& ram, std::uint64_t address) const {
        return ram.load<std::uint32_t>(cmdsts_at(address) + 4);
    }
};

} // namespace previrt
