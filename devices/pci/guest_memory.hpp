// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// A bus master's access to the guest's RAM, for one call. The guest may change its contents at any time.
struct GuestMemory {
    enum class Access : std::uint8_t { read, write };
    // nullptr unless all of the range is RAM. The pointer has the address's alignment, up to 8 bytes.
    using Reach = std::uint8_t* (*)(void* context, std::uint64_t address, std::uint64_t bytes, Access access);

    Reach reach;
    void* context;

    [[nodiscard]] const std::uint8_t* to_read(std::uint64_t address, std::uint64_t bytes) const {
        return reach(context, address, bytes, Access::read);
    }
    [[nodiscard]] std::uint8_t* to_write(std::uint64_t address, std::uint64_t bytes) const {
        return reach(context, address, bytes, Access::write);
    }
};

} // namespace previrt
