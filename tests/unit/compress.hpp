// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "toolchain/image/decompress.hpp"

#include <functional>
#include <gtest/gtest.h>
#include <string>

namespace previrt {

using Bytes = std::span<const std::uint8_t>;
using Buffer = std::vector<std::uint8_t>;

void append(Buffer& buffer, Bytes bytes);
void append_little_endian_u32(Buffer& buffer, std::size_t value);
void append_big_endian(Buffer& buffer, std::size_t value, unsigned length);

Buffer gzip_of(Bytes data);
Buffer bzip2_of(Bytes data);
Buffer lzma_of(Bytes data);
Buffer xz_of(Bytes data);
Buffer zstd_of(Bytes data);

inline constexpr std::uint32_t lzop_adler32_of_output = 0x1;
inline constexpr std::uint32_t lzop_adler32_of_input = 0x2;
inline constexpr std::uint32_t lzop_extra_field = 0x40;
inline constexpr std::uint32_t lzop_crc32_of_output = 0x100;
inline constexpr std::uint32_t lzop_crc32_of_input = 0x200;
inline constexpr std::uint32_t lzop_filter = 0x800;
inline constexpr std::uint32_t lzop_crc32_of_header = 0x1000;

struct LzopForm {
    std::uint32_t flags = lzop_adler32_of_output | lzop_adler32_of_input;
    std::uint32_t filter = 0;
    std::uint16_t version = 0x1040;
    std::uint8_t method = 3;
};

Buffer lzop_header(const LzopForm& form);
Buffer lzop_of(Bytes data, const LzopForm& form = {});

inline constexpr std::uint32_t lz4_magic = 0x184c2102;

Buffer lz4_of(Bytes data, std::size_t block_size);

struct Sample {
    Compression compression;
    Buffer stream;
};

std::vector<Sample> every_compression_of(Bytes data);

// Half noise, half repetition, with call instructions for the x86 filter of xz.
Buffer sample_kernel(std::size_t size);

// The same one each time, and every compression of it.
const Buffer& kernel();
const std::vector<Sample>& samples();
const Buffer& stream_of(Compression compression);

// Gives the message of the InputError, or "accepted".
std::string refusal(const std::function<void()>& action);

testing::AssertionResult contains(const std::string& text, std::string_view part);

} // namespace previrt
