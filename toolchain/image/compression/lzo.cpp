// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/image/compression/formats.hpp"

#include "toolchain/image/compression/output.hpp"
#include "toolchain/image/compression/reader.hpp"

#include <algorithm>
#include <lzo/lzo1x.h>
#include <optional>
#include <string>
#include <utility>
#include <zlib.h>

namespace previrt {

namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::uint32_t lzop_adler32_of_output = 0x1;
constexpr std::uint32_t lzop_adler32_of_input = 0x2;
constexpr std::uint32_t lzop_extra_field = 0x40;
constexpr std::uint32_t lzop_crc32_of_output = 0x100;
constexpr std::uint32_t lzop_crc32_of_input = 0x200;
constexpr std::uint32_t lzop_filter = 0x800;
constexpr std::uint32_t lzop_crc32_of_header = 0x1000;

struct LzopSums {
    std::optional<std::uint32_t> adler32;
    std::optional<std::uint32_t> crc32;
};

LzopSums read_lzop_sums(Reader& reader, bool has_adler32, bool has_crc32) {
    LzopSums sums;
    if (has_adler32) {
        sums.adler32 = reader.big_endian(4);
    }
    if (has_crc32) {
        sums.crc32 = reader.big_endian(4);
    }
    return sums;
}

void check_lzop_sums(const LzopSums& sums, Bytes bytes, std::string_view words, std::size_t offset) {
    if ((sums.adler32 && *sums.adler32 != adler32_z(1, bytes.data(), bytes.size())) ||
        (sums.crc32 && *sums.crc32 != crc32_z(0, bytes.data(), bytes.size()))) {
        throw_damaged(Compression::lzo, words, offset);
    }
}

// Returns the flags.
std::uint32_t read_lzop_header(Reader& reader) {
    if (!std::ranges::equal(reader.take(lzop_magic.size()), lzop_magic)) {
        throw_damaged(Compression::lzo, "bad magic number", 0);
    }
    const std::size_t start = reader.position();
    const bool has_long_header = reader.big_endian(2) >= 0x0940; // lzop 0.94 and later
    reader.take(2);                                              // library version
    if (has_long_header) {
        reader.take(2); // version needed to extract
    }
    const std::size_t method_offset = reader.position();
    const std::uint8_t method = reader.byte();
    if (method < 1 || method > 3) { // LZO1X-1, LZO1X-1(15), LZO1X-999
        throw_damaged(Compression::lzo, "unknown method " + std::to_string(method), method_offset);
    }
    if (has_long_header) {
        reader.take(1); // level
    }
    const std::uint32_t flags = reader.big_endian(4);
    if ((flags & lzop_filter) != 0 && reader.big_endian(4) != 0) {
        throw_damaged(Compression::lzo, "unsupported filter", reader.position() - 4);
    }
    reader.take(has_long_header ? 12 : 8); // mode, time
    reader.take(reader.byte());            // name
    const Bytes header = reader.since(start);
    const bool has_crc32 = (flags & lzop_crc32_of_header) != 0;
    check_lzop_sums(read_lzop_sums(reader, !has_crc32, has_crc32), header, "header checksum error", start);
    if ((flags & lzop_extra_field) != 0) {
        const std::size_t extra_start = reader.position();
        reader.take(reader.big_endian(4));
        const Bytes extra = reader.since(extra_start);
        check_lzop_sums(read_lzop_sums(reader, !has_crc32, has_crc32), extra, "extra field checksum error",
                        extra_start);
    }
    return flags;
}

std::string_view lzo_words(int result) {
    switch (result) {
    case LZO_E_INPUT_OVERRUN:
        return "input overrun";
    case LZO_E_OUTPUT_OVERRUN:
        return "output overrun";
    case LZO_E_LOOKBEHIND_OVERRUN:
        return "lookbehind overrun";
    case LZO_E_EOF_NOT_FOUND:
        return "end code not found";
    case LZO_E_INPUT_NOT_CONSUMED:
        return "input not consumed";
    default:
        return "unexpected error";
    }
}

void decompress_lzo_block(Bytes block, std::span<std::uint8_t> space, std::size_t offset) {
    if (block.size() == space.size()) {
        std::ranges::copy(block, space.begin());
        return;
    }
    lzo_uint produced = space.size();
    const int result = lzo1x_decompress_safe(block.data(), block.size(), space.data(), &produced, nullptr);
    if (result != LZO_E_OK) {
        throw_damaged(Compression::lzo, lzo_words(result), offset);
    }
    if (produced != space.size()) {
        throw_damaged(Compression::lzo, "block shorter than it claims", offset);
    }
}

} // namespace

std::vector<std::uint8_t> decompress_lzo(Bytes data, std::size_t expected_size) {
    constexpr std::size_t largest_block = std::size_t{64} << 20U;
    Reader reader(data);
    const std::uint32_t flags = read_lzop_header(reader);
    Output output(expected_size);
    while (const std::size_t length = reader.big_endian(4)) {
        const std::size_t offset = reader.position() - 4;
        if (length > output.remaining()) {
            throw_holds_more(expected_size);
        }
        const std::size_t compressed_length = reader.big_endian(4);
        if (length > largest_block || compressed_length > length ||
            compressed_length < length / largest_expansion) {
            throw_damaged(Compression::lzo, "bad block length", offset);
        }
        const LzopSums output_sums = read_lzop_sums(reader, (flags & lzop_adler32_of_output) != 0,
                                                    (flags & lzop_crc32_of_output) != 0);
        const bool is_stored = compressed_length == length;
        const LzopSums input_sums = read_lzop_sums(reader, !is_stored && (flags & lzop_adler32_of_input) != 0,
                                                   !is_stored && (flags & lzop_crc32_of_input) != 0);
        const Bytes block = reader.take(compressed_length);
        check_lzop_sums(input_sums, block, "checksum error in compressed data", offset);
        const std::span<std::uint8_t> space = output.space_for(length);
        decompress_lzo_block(block, space, offset);
        check_lzop_sums(output_sums, space, "checksum error", offset);
        output.add(length);
    }
    check_nothing_follows(Compression::lzo, data, reader.position());
    return std::move(output).finish();
}

} // namespace previrt
