// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// How a bus master reaches the guest's RAM, for one call. All that it reads there is the guest's to change at
// any time.
struct GuestMemory {
    enum class Access : std::uint8_t { read, write };
    // nullptr where the range is not all RAM. The pointer is aligned to 8 bytes as the address is.
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
