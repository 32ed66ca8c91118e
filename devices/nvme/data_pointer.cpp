// SPDX-License-Identifier: BSD-2-Clause
#include "devices/nvme/data_pointer.hpp"

#include "devices/nvme/registers.hpp"

#include <algorithm>
#include <cstring>

namespace previrt::nvme {

namespace {

using GuestEntry [[gnu::may_alias]] = std::uint64_t;
constexpr std::uint64_t entry_bytes = sizeof(GuestEntry);

constexpr std::uint64_t offset_in_page(std::uint64_t address) {
    return address & (page_bytes - 1);
}

class PieceList {
public:
    explicit PieceList(PieceRoom room) : room_(room) {}

    void add(std::uint64_t address, std::uint64_t bytes) {
        if (count_ != 0 && room_[count_ - 1].address + room_[count_ - 1].bytes == address) {
            room_[count_ - 1].bytes += bytes;
        } else {
            room_[count_++] = {.address = address, .bytes = bytes};
        }
    }
    [[nodiscard]] std::span<const Piece> pieces() const { return room_.first(count_); }

private:
    PieceRoom room_;
    std::size_t count_ = 0;
};

// Adds the pages of a list, and of the lists that it leads to. Each list has an entry of a page at least, so
// this ends after `bytes` at the latest.
Status add_list(const GuestMemory& memory, std::uint64_t list, std::uint64_t bytes, PieceList& found) {
    while (bytes != 0) {
        const std::uint64_t pages = (bytes + page_bytes - 1) / page_bytes;
        const std::uint64_t entries = (page_bytes - offset_in_page(list)) / entry_bytes;
        const bool leads_on = pages > entries; // then the last entry is the next list's address
        const std::uint64_t here = leads_on ? entries : pages;
        const std::uint8_t* const place = memory.to_read(list, here * entry_bytes);
        if (place == nullptr) {
            return Status::data_transfer_error;
        }
        const auto* const guest = reinterpret_cast<const GuestEntry*>(place);
        for (std::uint64_t i = 0; i < here; ++i) {
            const std::uint64_t entry = __atomic_load_n(guest + i, __ATOMIC_RELAXED);
            if (offset_in_page(entry) != 0) {
                return Status::prp_offset_invalid;
            }
            if (leads_on && i == here - 1) {
                list = entry;
                break;
            }
            const std::uint64_t part = std::min(bytes, page_bytes);
            found.add(entry, part);
            bytes -= part;
        }
    }
    return Status::success;
}

} // namespace

Status DataPointer::find(const GuestMemory& memory, GuestMemory::Access access, PieceRoom room,
                         std::span<const Piece>& pieces) const {
    if (prp1 % 4 != 0) {
        return Status::prp_offset_invalid;
    }
    PieceList found(room);
    const std::uint64_t first = std::min<std::uint64_t>(bytes, page_bytes - offset_in_page(prp1));
    const std::uint64_t left = bytes - first;
    found.add(prp1, first);
    if (left > page_bytes) {
        if (prp2 % entry_bytes != 0) {
            return Status::prp_offset_invalid;
        }
        const Status status = add_list(memory, prp2, left, found);
        if (status != Status::success) {
            return status;
        }
    } else if (left != 0) {
        if (offset_in_page(prp2) != 0) {
            return Status::prp_offset_invalid;
        }
        found.add(prp2, left);
    }
    pieces = found.pieces();
    for (const Piece& piece : pieces) {
        if (memory.reach(memory.context, piece.address, piece.bytes, access) == nullptr) {
            return Status::data_transfer_error;
        }
    }
    return Status::success;
}

void copy_to_guest(const GuestMemory& memory, std::span<const Piece> pieces,
                   std::span<const std::uint8_t> data) {
    for (const Piece& piece : pieces) {
        const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(piece.bytes, data.size()));
        std::uint8_t* const place = memory.to_write(piece.address, bytes);
        if (place == nullptr || bytes == 0) {
            return;
        }
        std::memcpy(place, data.data(), bytes);
        data = data.subspan(bytes);
    }
}

void copy_from_guest(const GuestMemory& memory, std::span<const Piece> pieces, std::uint32_t offset,
                     std::span<std::uint8_t> data) {
    std::uint64_t skipped = offset;
    for (const Piece& piece : pieces) {
        if (skipped >= piece.bytes) {
            skipped -= piece.bytes;
            continue;
        }
        const auto bytes =
            static_cast<std::size_t>(std::min<std::uint64_t>(piece.bytes - skipped, data.size()));
        const std::uint8_t* const place = memory.to_read(piece.address + skipped, bytes);
        if (place == nullptr || bytes == 0) {
            return;
        }
        std::memcpy(data.data(), place, bytes);
        data = data.subspan(bytes);
        skipped = 0;
    }
}

} // namespace previrt::nvme
