// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/image/compression/formats.hpp"

#include "toolchain/image/compression/output.hpp"
#include "toolchain/image/compression/reader.hpp"

#include <algorithm>
#include <lz4.h>
#include <string>
#include <utility>

namespace previrt {

namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::size_t largest_block = std::size_t{8} << 20U;
constexpr std::uint32_t largest_compressed_block = LZ4_COMPRESSBOUND(largest_block);
constexpr std::uint32_t magic = 0x184c2102;

} // namespace

std::vector<std::uint8_t> decompress_lz4(Bytes data, std::size_t expected_size) {
    Reader reader(data);
    if (reader.little_endian_u32() != magic) {
        throw_damaged(Compression::lz4, "bad magic number", 0);
    }
    Output output(expected_size);
    while (!reader.at_end()) {
        const std::size_t offset = reader.position();
        const std::uint32_t compressed_length = reader.little_endian_u32();
        if (compressed_length == magic) { // the next of several frames
            continue;
        }
        if (compressed_length == 0 || compressed_length > largest_compressed_block) {
            throw_damaged(Compression::lz4, "bad block length " + std::to_string(compressed_length), offset);
        }
        const Bytes block = reader.take(compressed_length);
        const std::span<std::uint8_t> space =
            output.space_for(std::min(largest_block, block.size() * largest_expansion));
        const int produced = LZ4_decompress_safe(
            reinterpret_cast<const char*>(block.data()), reinterpret_cast<char*>(space.data()),
            static_cast<int>(block.size()), static_cast<int>(space.size()));
        if (produced < 0) {
            throw_damaged(Compression::lz4, "malformed block", offset);
        }
        output.add(static_cast<std::size_t>(produced));
    }
    return std::move(output).finish();
}

} // namespace previrt
