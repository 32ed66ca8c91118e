// SPDX-License-Identifier: BSD-2-Clause
#include "devices/virtio_fs/init_reply.hpp"

#include <cstring>

namespace previrt::virtio_fs {

namespace {

// A request begins with fuse_in_header, its reply with fuse_out_header; fuse_init_out is behind that.
constexpr std::uint32_t opcode_init = 26;
constexpr std::uint64_t opcode_offset = 4;
constexpr std::uint64_t flags_offset = 16 + 12;
constexpr std::uint32_t readdirplus_auto = 1U << 14U;

// Linux has four: each header, and each argument behind one. A driver may have a thousand, and no flags in
// them.
constexpr unsigned most_buffers = 8;

std::uint32_t read_word(const std::uint8_t* place) {
    std::uint32_t word = 0;
    std::memcpy(&word, place, sizeof word);
    return word;
}

} // namespace

void InitReply::find(virtio::BufferChain chain, const GuestMemory& memory) {
    is_awaited = false;
    virtio::Buffer buffer{};
    if (chain.next(memory, buffer) != virtio::Look::ready || buffer.device_writes ||
        buffer.bytes < opcode_offset + sizeof opcode_init) {
        return;
    }
    const std::uint8_t* const request = memory.to_read(buffer.address, opcode_offset + sizeof opcode_init);
    if (request == nullptr || read_word(request + opcode_offset) != opcode_init) {
        return;
    }
    // The server fills the buffers that it may write as one row of bytes.
    std::uint64_t before = 0;
    for (unsigned count = 1; count < most_buffers && chain.next(memory, buffer) == virtio::Look::ready;
         ++count) {
        if (!buffer.device_writes) {
            continue;
        }
        const std::uint64_t end = flags_offset + sizeof readdirplus_auto - before; // in this buffer
        if (end <= buffer.bytes) {
            const bool is_there = flags_offset >= before && memory.to_write(buffer.address, end) != nullptr;
            flags = is_there ? buffer.address + end - sizeof readdirplus_auto : 0;
            return;
        }
        before += buffer.bytes;
    }
}

void InitReply::change(const GuestMemory& memory) {
    std::uint8_t* const place = flags != 0 ? memory.to_write(flags, sizeof readdirplus_auto) : nullptr;
    if (place != nullptr) {
        const std::uint32_t changed = read_word(place) & ~readdirplus_auto;
        std::memcpy(place, &changed, sizeof changed);
    }
    flags = 0;
}

} // namespace previrt::virtio_fs
