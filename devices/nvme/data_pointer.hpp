// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/nvme/medium.hpp"
#include "devices/nvme/status.hpp"
#include "devices/pci/guest_memory.hpp"

#include <cstdint>
#include <span>

namespace previrt::nvme {

// A command's data in the guest's memory: PRP1, and PRP2 or the lists that it leads to.
struct DataPointer {
    std::uint64_t prp1;
    std::uint64_t prp2;
    std::uint32_t bytes; // 1 to most_transfer_bytes

    // Success: `pieces` is the start of the room, with `bytes` bytes of RAM in the order of the data. Pages
    // that follow each other are one piece. Each entry of a list is read once.
    Status find(const GuestMemory& memory, GuestMemory::Access access, PieceRoom room,
                std::span<const Piece>& pieces) const;
};

// Of data that find() has found: from its start as far as both reach; from `offset` on.
void copy_to_guest(const GuestMemory& memory, std::span<const Piece> pieces,
                   std::span<const std::uint8_t> data);
void copy_from_guest(const GuestMemory& memory, std::span<const Piece> pieces, std::uint32_t offset,
                     std::span<std::uint8_t> data);

} // namespace previrt::nvme
