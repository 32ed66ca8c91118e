// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace previrt {

enum class Compression : std::uint8_t { none, gzip, bzip2, lzma, xz, lzo, lz4, zstd };

std::string_view name_of(Compression compression);

// By the first bytes.
Compression recognise_compression(std::span<const std::uint8_t> data);

// Returns exactly `expected_size` bytes. Throws InputError if the data is damaged, ends early or holds more.
std::vector<std::uint8_t> decompress(Compression compression, std::span<const std::uint8_t> data,
                                     std::size_t expected_size);

} // namespace previrt
