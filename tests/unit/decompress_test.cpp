// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/image/decompress.hpp"

#include "host/input_error.hpp"
#include "tests/unit/compress.hpp"
#include "tests/unit/make_bzimage.hpp"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <limits>
#include <lz4.h>
#include <string>
#include <sys/resource.h>

namespace previrt {

namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20U;

std::string refusal_to_decompress(Compression compression, Bytes data, std::size_t expected_size) {
    return refusal([&] { decompress(compression, data, expected_size); });
}

std::string trace(Compression compression) {
    return std::string(name_of(compression));
}

TEST(Decompress, EveryCompressionRoundTrips) {
    for (const auto& [compression, stream] : samples()) {
        SCOPED_TRACE(trace(compression));
        EXPECT_TRUE(compression == Compression::none || stream.size() < kernel().size());
        EXPECT_EQ(decompress(compression, stream, kernel().size()), kernel());
    }
}

TEST(Decompress, SmallKernelsRoundTrip) {
    for (const std::size_t size : {0U, 1U, 5U, 4096U}) {
        const Buffer data = sample_kernel(size);
        for (const auto& [compression, stream] : every_compression_of(data)) {
            SCOPED_TRACE(trace(compression) + " of " + std::to_string(size));
            EXPECT_EQ(decompress(compression, stream, size), data);
        }
    }
}

TEST(Decompress, OutputGrowsPastTheFirstAllocation) {
    Buffer data(6 * mebibyte);
    std::ranges::copy(kernel(), data.begin() + (5 * mebibyte));
    data.back() = 0x5a;
    EXPECT_EQ(decompress(Compression::gzip, gzip_of(data), data.size()), data);
    EXPECT_EQ(decompress(Compression::zstd, zstd_of(data), data.size()), data);
    EXPECT_EQ(decompress(Compression::lzo, lzop_of(data), data.size()), data);
    EXPECT_EQ(decompress(Compression::lz4, lz4_of(data, 8 * mebibyte), data.size()), data);
}

TEST(Decompress, RecognisesEveryCompression) {
    for (const auto& [compression, stream] : samples()) {
        EXPECT_EQ(recognise_compression(stream), compression) << name_of(compression);
    }
}

TEST(Decompress, NamesEveryCompression) {
    EXPECT_EQ(name_of(Compression::none), "none");
    EXPECT_EQ(name_of(Compression::gzip), "gzip");
    EXPECT_EQ(name_of(Compression::bzip2), "bzip2");
    EXPECT_EQ(name_of(Compression::lzma), "lzma");
    EXPECT_EQ(name_of(Compression::xz), "xz");
    EXPECT_EQ(name_of(Compression::lzo), "lzo");
    EXPECT_EQ(name_of(Compression::lz4), "lz4");
    EXPECT_EQ(name_of(Compression::zstd), "zstd");
}

TEST(Decompress, UnknownFirstBytesAreShown) {
    const Buffer data{0xde, 0xad, 0xbe, 0xef, 0x01, 0x02, 0x03, 0x04, 0x05};
    EXPECT_TRUE(contains(refusal([&] { recognise_compression(data); }), "bytes are de ad be ef 01 02 03 04"));
    const Buffer part_of_magic{0xfd, '7', 'z'};
    EXPECT_TRUE(contains(refusal([&] { recognise_compression(part_of_magic); }), "bytes are fd 37 7a"));
    EXPECT_TRUE(contains(refusal([] { recognise_compression({}); }), "empty"));
}

TEST(Decompress, DataCutShortEndEarly) {
    for (const auto& [compression, stream] : samples()) {
        const std::size_t size = stream.size();
        for (const std::size_t length : {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{11},
                                         std::size_t{30}, size / 4, size / 2, size - 5, size - 1}) {
            SCOPED_TRACE(trace(compression) + " cut to " + std::to_string(length));
            EXPECT_TRUE(
                contains(refusal_to_decompress(compression, Bytes(stream).first(length), kernel().size()),
                         "ends early"));
        }
    }
}

TEST(Decompress, MoreThanClaimedIsRefused) {
    for (const auto& [compression, stream] : samples()) {
        for (const std::size_t claim : {std::size_t{0}, kernel().size() / 2, kernel().size() - 1}) {
            SCOPED_TRACE(trace(compression) + " claiming " + std::to_string(claim));
            EXPECT_TRUE(contains(refusal_to_decompress(compression, stream, claim),
                                 "holds more than the " + std::to_string(claim) + " bytes it claims"));
        }
    }
}

TEST(Decompress, LessThanClaimedIsRefused) {
    for (const auto& [compression, stream] : samples()) {
        for (const std::size_t claim : {kernel().size() + 1, 5 * mebibyte}) {
            SCOPED_TRACE(trace(compression) + " claiming " + std::to_string(claim));
            EXPECT_TRUE(contains(refusal_to_decompress(compression, stream, claim),
                                 "ends early: it gives 200001 of the " + std::to_string(claim)));
        }
    }
}

TEST(Decompress, MoreThanOneGibibyteIsRefused) {
    for (const auto& [compression, stream] : samples()) {
        for (const std::size_t claim :
             {(1024 * mebibyte) + 1, std::size_t{0xffffffff}, std::numeric_limits<std::size_t>::max()}) {
            EXPECT_TRUE(contains(refusal_to_decompress(compression, stream, claim), "1 GiB"));
        }
    }
}

long peak_memory_in_kibibytes() {
    rusage usage{};
    EXPECT_EQ(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

TEST(Decompress, FalseClaimCostsNoMemory) {
    const long before = peak_memory_in_kibibytes();
    for (const auto& [compression, stream] : samples()) {
        SCOPED_TRACE(trace(compression));
        EXPECT_TRUE(contains(refusal_to_decompress(compression, stream, 1024 * mebibyte), "ends early"));
        EXPECT_TRUE(contains(refusal_to_decompress(compression, Bytes(stream).first(100), 1024 * mebibyte),
                             "ends early"));
    }
    EXPECT_LT(peak_memory_in_kibibytes() - before, 256L << 10U);
}

TEST(Decompress, BytesAfterTheEndAreRefused) {
    for (const auto& [compression, stream] : samples()) {
        SCOPED_TRACE(trace(compression));
        Buffer longer = stream;
        append(longer, std::to_array<std::uint8_t>({0, 0, 0, 0, 0}));
        std::string_view words = "5 bytes follow its end";
        if (compression == Compression::none) {
            words = "holds more";
        } else if (compression == Compression::lz4) { // which has no end mark: another block
            words = "bad block length 0";
        }
        EXPECT_TRUE(contains(refusal_to_decompress(compression, longer, kernel().size()), words));
    }
}

TEST(Decompress, DamageInTheMiddleIsNoticed) {
    for (const auto& [compression, stream] : samples()) {
        const bool has_checksum = compression != Compression::none && compression != Compression::lzma &&
                                  compression != Compression::lz4;
        for (std::size_t part = 3; part < 9; ++part) {
            const std::size_t place = stream.size() / 12 * part;
            SCOPED_TRACE(trace(compression) + " damaged at " + std::to_string(place));
            Buffer damaged = stream;
            damaged[place] ^= 0x55;
            try {
                const Buffer result = decompress(compression, damaged, kernel().size());
                EXPECT_FALSE(has_checksum);
                EXPECT_EQ(result.size(), kernel().size());
                EXPECT_NE(result, kernel());
            } catch (const InputError& error) {
                EXPECT_NE(compression, Compression::none);
                EXPECT_TRUE(contains(error.what(), "compressed kernel "));
            }
        }
    }
}

TEST(Decompress, DamageIsToldInTheLibrarysWords) {
    const auto damaged_at = [](Compression compression, std::size_t place) {
        Buffer stream = stream_of(compression);
        stream[place] ^= 0xff;
        return refusal_to_decompress(compression, stream, kernel().size());
    };
    const auto end = [](Compression compression, std::size_t distance) {
        return stream_of(compression).size() - distance;
    };
    EXPECT_TRUE(contains(damaged_at(Compression::gzip, 2), "damaged: unknown compression method (gzip data"));
    EXPECT_TRUE(
        contains(damaged_at(Compression::gzip, end(Compression::gzip, 8)), "damaged: incorrect data check"));
    EXPECT_TRUE(contains(damaged_at(Compression::bzip2, 1), "damaged: bad magic number (bzip2 data"));
    EXPECT_TRUE(contains(damaged_at(Compression::bzip2, 10), "damaged: data integrity (CRC) error"));
    EXPECT_TRUE(
        contains(damaged_at(Compression::lzma, 13), "damaged: data is corrupt (lzma data, near byte"));
    EXPECT_TRUE(contains(damaged_at(Compression::xz, 2), "damaged: file format not recognized (xz data"));
    EXPECT_TRUE(contains(damaged_at(Compression::xz, end(Compression::xz, 12)), "damaged: data is corrupt"));
    EXPECT_TRUE(contains(damaged_at(Compression::zstd, 0), "damaged: Unknown frame descriptor (zstd data)"));
    EXPECT_TRUE(contains(damaged_at(Compression::zstd, end(Compression::zstd, 1)), "damaged: "));
    EXPECT_TRUE(contains(damaged_at(Compression::lzo, 0), "damaged: bad magic number (lzo data"));
    EXPECT_TRUE(contains(damaged_at(Compression::lz4, 0), "damaged: bad magic number (lz4 data"));
}

TEST(Decompress, LzmaMayKnowItsSize) {
    Buffer stream = stream_of(Compression::lzma);
    constexpr std::size_t size_offset = 5;
    EXPECT_EQ(stream[size_offset], 0xff);
    put_u32(stream, size_offset, static_cast<std::uint32_t>(kernel().size()));
    put_u32(stream, size_offset + 4, 0);
    EXPECT_EQ(decompress(Compression::lzma, stream, kernel().size()), kernel());
}

TEST(Decompress, LzmaWithAHugeDictionaryIsRefused) {
    Buffer stream = stream_of(Compression::lzma);
    put_u32(stream, 1, 0xffffffff);
    EXPECT_TRUE(contains(refusal_to_decompress(Compression::lzma, stream, kernel().size()),
                         "dictionary far larger than the kernel"));
    put_u32(stream, 1, 128 * mebibyte); // the largest of Linux
    EXPECT_EQ(decompress(Compression::lzma, stream, kernel().size()), kernel());
}

// Frames of one raw block, the last.
Buffer raw_zstd_frame(std::uint8_t window_descriptor, Bytes data) {
    Buffer frame{0x28, 0xb5, 0x2f, 0xfd, 0x00, window_descriptor};
    const std::size_t block_header = data.size() << 3U | 1U;
    for (unsigned index = 0; index < 3; ++index) {
        frame.push_back(static_cast<std::uint8_t>(block_header >> (8 * index)));
    }
    append(frame, data);
    return frame;
}

TEST(Decompress, ZstdWindowMayBeLargerThanTheKernel) {
    const Bytes data = Bytes(kernel()).first(1000);
    for (const unsigned window_log : {10U, 27U, 31U}) {
        const Buffer frame = raw_zstd_frame(static_cast<std::uint8_t>((window_log - 10) << 3U), data);
        const Buffer result = decompress(Compression::zstd, frame, data.size());
        EXPECT_TRUE(std::ranges::equal(result, data)) << window_log;
    }
}

TEST(Decompress, EveryFormOfLzopRoundTrips) {
    for (const LzopForm& form : {
             LzopForm{.flags = 0},
             LzopForm{.flags = lzop_adler32_of_output},
             LzopForm{.flags = lzop_adler32_of_input | lzop_crc32_of_output},
             LzopForm{.flags = lzop_crc32_of_input | lzop_crc32_of_output | lzop_crc32_of_header},
             LzopForm{.flags = lzop_extra_field | lzop_adler32_of_output},
             LzopForm{.flags = lzop_extra_field | lzop_crc32_of_header},
             LzopForm{.flags = lzop_filter},
             LzopForm{.version = 0x0930},
             LzopForm{.method = 1},
         }) {
        SCOPED_TRACE(form.flags);
        EXPECT_EQ(decompress(Compression::lzo, lzop_of(kernel(), form), kernel().size()), kernel());
    }
}

TEST(Decompress, LzopHeaderIsChecked) {
    const auto refusal_of = [](const Buffer& file) {
        return refusal_to_decompress(Compression::lzo, file, kernel().size());
    };
    EXPECT_TRUE(
        contains(refusal_of(lzop_of(kernel(), {.method = 4})), "unknown method 4 (lzo data, near byte 15)"));
    EXPECT_TRUE(
        contains(refusal_of(lzop_of(kernel(), {.flags = lzop_filter, .filter = 1})), "unsupported filter"));
    for (const std::uint32_t flags : {std::uint32_t{0}, lzop_crc32_of_header}) {
        Buffer file = lzop_of(kernel(), {.flags = flags});
        file[9 + 2] ^= 1; // library version
        EXPECT_TRUE(contains(refusal_of(file), "header checksum error"));
    }
    Buffer file = lzop_header({.flags = lzop_extra_field});
    file[file.size() - 5] ^= 1;
    EXPECT_TRUE(contains(refusal_of(file), "extra field checksum error"));
}

TEST(Decompress, EveryLzopChecksumIsChecked) {
    for (const std::uint32_t flag :
         {lzop_adler32_of_output, lzop_adler32_of_input, lzop_crc32_of_output, lzop_crc32_of_input}) {
        Buffer file = lzop_of(kernel(), {.flags = flag});
        const std::size_t sum_offset = lzop_header({}).size() + 8;
        file[sum_offset] ^= 1;
        EXPECT_TRUE(
            contains(refusal_to_decompress(Compression::lzo, file, kernel().size()), "checksum error"))
            << flag;
    }
}

TEST(Decompress, LzopBlockLengthsAreChecked) {
    const auto refusal_of_block = [](std::size_t length, std::size_t compressed_length, std::size_t claim) {
        Buffer file = lzop_header({.flags = 0});
        append_big_endian(file, length, 4);
        append_big_endian(file, compressed_length, 4);
        append(file, Bytes(kernel()).first(300));
        return refusal_to_decompress(Compression::lzo, file, claim);
    };
    EXPECT_TRUE(contains(refusal_of_block(101, 50, 100), "holds more than the 100 bytes"));
    EXPECT_TRUE(contains(refusal_of_block(0xffffffff, 0xffffffff, 1024 * mebibyte), "holds more"));
    EXPECT_TRUE(contains(refusal_of_block(100, 101, 100), "bad block length"));
    EXPECT_TRUE(contains(refusal_of_block(65 * mebibyte, 64 * mebibyte, 100 * mebibyte), "bad block length"));
    EXPECT_TRUE(contains(refusal_of_block(64 * mebibyte, 300, 100 * mebibyte), "bad block length"));
    EXPECT_TRUE(contains(refusal_of_block(1000, 301, 1000), "ends early"));
    EXPECT_TRUE(contains(refusal_of_block(1000, 300, 1000), "damaged: "));
}

TEST(Decompress, LzopBlockShorterThanItClaimsIsRefused) {
    Buffer file = lzop_of(Buffer(1000), {.flags = 0});
    const std::size_t length_offset = lzop_header({}).size() + 3;
    EXPECT_EQ(file[length_offset], 1000 & 0xff);
    ++file[length_offset];
    EXPECT_TRUE(
        contains(refusal_to_decompress(Compression::lzo, file, 1001), "block shorter than it claims"));
}

TEST(Decompress, Lz4MayHaveSeveralFrames) {
    Buffer file = lz4_of(Bytes(kernel()).first(1000), 600);
    append(file, lz4_of(Bytes(kernel()).subspan(1000), 70'000));
    EXPECT_EQ(decompress(Compression::lz4, file, kernel().size()), kernel());
}

TEST(Decompress, Lz4BlockLengthsAreChecked) {
    const auto refusal_of_block = [](std::size_t compressed_length) {
        Buffer file;
        append_little_endian_u32(file, lz4_magic);
        append_little_endian_u32(file, compressed_length);
        append(file, Buffer(100, 0xff));
        return refusal_to_decompress(Compression::lz4, file, 1000);
    };
    const auto bound = static_cast<std::size_t>(LZ4_compressBound(8 << 20));
    EXPECT_TRUE(contains(refusal_of_block(0), "bad block length 0 (lz4 data, near byte 4)"));
    EXPECT_TRUE(contains(refusal_of_block(bound + 1), "bad block length"));
    EXPECT_TRUE(contains(refusal_of_block(0xffffffff), "bad block length"));
    EXPECT_TRUE(contains(refusal_of_block(bound), "ends early"));
    EXPECT_TRUE(contains(refusal_of_block(101), "ends early"));
    EXPECT_TRUE(contains(refusal_of_block(100), "malformed block"));
}

TEST(Decompress, Lz4BlockOfMoreThanEightMebibytesIsRefused) {
    const Buffer data((8 * mebibyte) + 1);
    EXPECT_EQ(decompress(Compression::lz4, lz4_of(data, 8 * mebibyte), data.size()), data);
    EXPECT_TRUE(contains(refusal_to_decompress(Compression::lz4, lz4_of(data, data.size()), data.size()),
                         "malformed block"));
}

} // namespace

} // namespace previrt
