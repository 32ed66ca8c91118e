// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/image/decompress.hpp"

#include "host/input_error.hpp"
#include "toolchain/image/compression/formats.hpp"
#include "toolchain/image/compression/output.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace previrt {

namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::size_t largest_claim = std::size_t{1} << 30U;

constexpr auto gzip_magic = std::to_array<std::uint8_t>({0x1f, 0x8b});
constexpr auto bzip2_magic = std::to_array<std::uint8_t>({'B', 'Z', 'h'});
constexpr auto lzma_magic = std::to_array<std::uint8_t>({0x5d, 0x00, 0x00});
constexpr auto xz_magic = std::to_array<std::uint8_t>({0xfd, '7', 'z', 'X', 'Z', 0x00});
constexpr auto lz4_magic = std::to_array<std::uint8_t>({0x02, 0x21, 0x4c, 0x18});
constexpr auto zstd_magic = std::to_array<std::uint8_t>({0x28, 0xb5, 0x2f, 0xfd});
constexpr auto elf_magic = std::to_array<std::uint8_t>({0x7f, 'E', 'L', 'F'});

bool starts_with(Bytes data, Bytes magic) {
    return data.size() >= magic.size() && std::ranges::equal(data.first(magic.size()), magic);
}

std::string first_bytes_in_hex(Bytes data) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const std::uint8_t byte : data.first(std::min<std::size_t>(data.size(), 8))) {
        text += ' ';
        text += digits[byte >> 4U];
        text += digits[byte & 0xfU];
    }
    return text;
}

std::vector<std::uint8_t> copy_uncompressed(Bytes data, std::size_t expected_size) {
    Output output(expected_size);
    std::ranges::copy(data, output.space_for(data.size()).begin());
    output.add(data.size());
    return std::move(output).finish();
}

} // namespace

std::string_view name_of(Compression compression) {
    switch (compression) {
    case Compression::none:
        return "none";
    case Compression::gzip:
        return "gzip";
    case Compression::bzip2:
        return "bzip2";
    case Compression::lzma:
        return "lzma";
    case Compression::xz:
        return "xz";
    case Compression::lzo:
        return "lzo";
    case Compression::lz4:
        return "lz4";
    case Compression::zstd:
        return "zstd";
    }
    return "unknown";
}

Compression recognise_compression(Bytes data) {
    const std::array<std::pair<Bytes, Compression>, 8> magics{{{gzip_magic, Compression::gzip},
                                                               {bzip2_magic, Compression::bzip2},
                                                               {lzma_magic, Compression::lzma},
                                                               {xz_magic, Compression::xz},
                                                               {lzop_magic, Compression::lzo},
                                                               {lz4_magic, Compression::lz4},
                                                               {zstd_magic, Compression::zstd},
                                                               {elf_magic, Compression::none}}};
    for (const auto& [magic, compression] : magics) {
        if (starts_with(data, magic)) {
            return compression;
        }
    }
    throw InputError(data.empty() ? "compressed kernel is empty"
                                  : "unknown compression of the kernel, whose first bytes are" +
                                        first_bytes_in_hex(data));
}

std::vector<std::uint8_t> decompress(Compression compression, Bytes data, std::size_t expected_size) {
    if (expected_size > largest_claim) {
        throw InputError("compressed kernel claims " + std::to_string(expected_size) +
                         " bytes, more than the 1 GiB allowed");
    }
    switch (compression) {
    case Compression::none:
        return copy_uncompressed(data, expected_size);
    case Compression::gzip:
        return decompress_gzip(data, expected_size);
    case Compression::bzip2:
        return decompress_bzip2(data, expected_size);
    case Compression::lzma:
        return decompress_lzma(data, expected_size);
    case Compression::xz:
        return decompress_xz(data, expected_size);
    case Compression::lzo:
        return decompress_lzo(data, expected_size);
    case Compression::lz4:
        return decompress_lz4(data, expected_size);
    case Compression::zstd:
        return decompress_zstd(data, expected_size);
    }
    throw InputError("unknown compression of the kernel");
}

} // namespace previrt
