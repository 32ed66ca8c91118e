// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>

namespace previrt::nvme {

inline constexpr std::uint32_t most_transfer_shift = 20;
inline constexpr std::uint32_t most_transfer_bytes = std::uint32_t{1} << most_transfer_shift;
inline constexpr std::uint32_t most_pieces = 257; // pages, the first of which may begin anywhere

// The disk behind the controller.
struct Medium {
    std::uint64_t bytes = 0; // a multiple of block_bytes
    std::uint32_t block_bytes = 512;
    std::uint32_t number = 0; // among the machine's disks
    bool is_read_only = false;
    bool keeps_writes = false; // it has a volatile write cache
    bool discards = false;

    [[nodiscard]] std::uint64_t blocks() const { return bytes / block_bytes; }
};

enum class Operation : std::uint8_t { read, write, flush, write_zeroes, discard };

// Guest-physical memory. All of it is RAM.
struct Piece {
    std::uint64_t address;
    std::uint64_t bytes;
};
using PieceRoom = std::span<Piece, most_pieces>;

// What the controller wants of its medium.
struct Transfer {
    std::uint32_t token; // comes back with its end
    Operation operation;
    bool is_durable;      // of a write: its end comes when it is on stable storage
    std::uint64_t offset; // on the medium, in bytes
    std::uint64_t bytes;
    std::span<const Piece> pieces; // of reads and writes
};

constexpr Transfer flush_transfer{
    .token = 0, .operation = Operation::flush, .is_durable = false, .offset = 0, .bytes = 0, .pieces = {}};

enum class TransferEnd : std::uint8_t { done, read_error, write_error, no_space, refused };

// False: there is no room at present.
struct MediumPort {
    using Submit = bool (*)(void* context, const Transfer& transfer);

    Submit submit;
    void* context;
};

} // namespace previrt::nvme
