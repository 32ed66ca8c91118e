// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace previrt {

inline void put_u16(std::span<std::uint8_t> bytes, std::size_t offset, std::uint16_t value) {
    bytes[offset] = static_cast<std::uint8_t>(value);
    bytes[offset + 1] = static_cast<std::uint8_t>(value >> 8U);
}

inline void put_u32(std::span<std::uint8_t> bytes, std::size_t offset, std::uint32_t value) {
    put_u16(bytes, offset, static_cast<std::uint16_t>(value));
    put_u16(bytes, offset + 2, static_cast<std::uint16_t>(value >> 16U));
}

// Linux appends this to every compressed kernel but gzip's, which ends in its size anyway.
inline std::vector<std::uint8_t> with_size_trailer(std::span<const std::uint8_t> stream,
                                                   std::uint32_t uncompressed_size) {
    std::vector<std::uint8_t> payload(stream.size() + 4);
    std::ranges::copy(stream, payload.begin());
    put_u32(payload, stream.size(), uncompressed_size);
    return payload;
}

// A boot image of protocol 2.15 with two sectors of setup code, and filler on both sides of the payload.
inline std::vector<std::uint8_t> make_bzimage(std::span<const std::uint8_t> payload_including_size_trailer) {
    constexpr std::size_t setup_sectors = 2;
    constexpr std::size_t protected_mode_start = (setup_sectors + 1) * 512;
    constexpr std::size_t payload_offset = 0x2d0;
    constexpr std::size_t payload_start = protected_mode_start + payload_offset;
    constexpr std::size_t decompressor_length = 96;
    constexpr std::uint8_t filler = 0xcc;

    const std::size_t payload_length = payload_including_size_trailer.size();
    std::vector<std::uint8_t> file(payload_start + payload_length + decompressor_length, filler);
    file[0x1f1] = setup_sectors;
    put_u16(file, 0x1fe, 0xaa55);
    put_u32(file, 0x202, 0x53726448); // "HdrS"
    put_u16(file, 0x206, 0x020f);
    file[0x211] = 1; // loaded high
    put_u32(file, 0x248, payload_offset);
    put_u32(file, 0x24c, static_cast<std::uint32_t>(payload_length));
    std::ranges::copy(payload_including_size_trailer, file.begin() + payload_start);
    return file;
}

// Of a kernel that is not compressed. The setup header ends at 0x26c, and lets a command line have 255
// characters.
inline std::vector<std::uint8_t> bzimage_of(std::span<const std::uint8_t> kernel) {
    std::vector<std::uint8_t> image = make_bzimage(kernel);
    image[0x201] = 0x6a;
    put_u32(image, 0x238, 255);
    return image;
}

} // namespace previrt
