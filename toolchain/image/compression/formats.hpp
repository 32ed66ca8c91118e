// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace previrt {

inline constexpr auto lzop_magic =
    std::to_array<std::uint8_t>({0x89, 'L', 'Z', 'O', 0x00, 0x0d, 0x0a, 0x1a, 0x0a});

// Of both LZO and LZ4: a byte of input yields at most this many bytes of output.
inline constexpr std::size_t largest_expansion = 255;

// Each is decompress() for its Compression.
std::vector<std::uint8_t> decompress_gzip(std::span<const std::uint8_t> data, std::size_t expected_size);
std::vector<std::uint8_t> decompress_bzip2(std::span<const std::uint8_t> data, std::size_t expected_size);
std::vector<std::uint8_t> decompress_lzma(std::span<const std::uint8_t> data, std::size_t expected_size);
std::vector<std::uint8_t> decompress_xz(std::span<const std::uint8_t> data, std::size_t expected_size);
std::vector<std::uint8_t> decompress_lzo(std::span<const std::uint8_t> data, std::size_t expected_size);
std::vector<std::uint8_t> decompress_lz4(std::span<const std::uint8_t> data, std::size_t expected_size);
std::vector<std::uint8_t> decompress_zstd(std::span<const std::uint8_t> data, std::size_t expected_size);

} // namespace previrt
