// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/compress.hpp"

#include "host/input_error.hpp"
#include "tests/unit/make_bzimage.hpp"

#define ZLIB_CONST // its input pointers are to const
#include <algorithm>
#include <array>
#include <bzlib.h>
#include <lz4.h>
#include <lzma.h>
#include <lzo/lzo1x.h>
#include <memory>
#include <zlib.h>
#include <zstd.h>

namespace previrt {

namespace {

lzma_options_lzma small_lzma_options() {
    lzma_options_lzma options{};
    EXPECT_EQ(lzma_lzma_preset(&options, 1), 0);
    options.dict_size = 1U << 16U;
    return options;
}

void append_lzop_sum(Buffer& buffer, Bytes bytes, bool is_crc32) {
    append_big_endian(
        buffer, is_crc32 ? crc32_z(0, bytes.data(), bytes.size()) : adler32_z(1, bytes.data(), bytes.size()),
        4);
}

void append_lzop_block(Buffer& file, Bytes data, std::uint32_t flags) {
    Buffer work(LZO1X_1_MEM_COMPRESS);
    Buffer compressed(data.size() + (data.size() / 16) + 128);
    lzo_uint length = 0;
    EXPECT_EQ(lzo1x_1_compress(data.data(), data.size(), compressed.data(), &length, work.data()), LZO_E_OK);
    compressed.resize(length);
    const bool is_stored = length >= data.size();
    const Bytes block = is_stored ? data : Bytes(compressed);
    append_big_endian(file, data.size(), 4);
    append_big_endian(file, block.size(), 4);
    if ((flags & lzop_adler32_of_output) != 0) {
        append_lzop_sum(file, data, false);
    }
    if ((flags & lzop_crc32_of_output) != 0) {
        append_lzop_sum(file, data, true);
    }
    if (!is_stored && (flags & lzop_adler32_of_input) != 0) {
        append_lzop_sum(file, block, false);
    }
    if (!is_stored && (flags & lzop_crc32_of_input) != 0) {
        append_lzop_sum(file, block, true);
    }
    append(file, block);
}

struct EndZstd {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

} // namespace

void append(Buffer& buffer, Bytes bytes) {
    buffer.insert(buffer.end(), bytes.begin(), bytes.end());
}

void append_little_endian_u32(Buffer& buffer, std::size_t value) {
    buffer.resize(buffer.size() + 4);
    put_u32(buffer, buffer.size() - 4, static_cast<std::uint32_t>(value));
}

void append_big_endian(Buffer& buffer, std::size_t value, unsigned length) {
    for (unsigned index = length; index-- > 0;) {
        buffer.push_back(static_cast<std::uint8_t>(value >> (8 * index)));
    }
}

Buffer gzip_of(Bytes data) {
    z_stream stream{};
    EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, MAX_WBITS | 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
    Buffer compressed(deflateBound(&stream, data.size()));
    stream.next_in = data.data();
    stream.avail_in = static_cast<uInt>(data.size());
    stream.next_out = compressed.data();
    stream.avail_out = static_cast<uInt>(compressed.size());
    EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
    compressed.resize(stream.total_out);
    deflateEnd(&stream);
    return compressed;
}

Buffer bzip2_of(Bytes data) {
    Buffer compressed(data.size() + (data.size() / 100) + 600);
    auto length = static_cast<unsigned>(compressed.size());
    Buffer source(data.begin(), data.end()); // libbz2 takes no pointer to const
    source.reserve(1);                       // nor a null one
    EXPECT_EQ(BZ2_bzBuffToBuffCompress(reinterpret_cast<char*>(compressed.data()), &length,
                                       reinterpret_cast<char*>(source.data()),
                                       static_cast<unsigned>(source.size()), 9, 0, 0),
              BZ_OK);
    compressed.resize(length);
    return compressed;
}

Buffer lzma_of(Bytes data) {
    const lzma_options_lzma options = small_lzma_options();
    lzma_stream stream = LZMA_STREAM_INIT;
    EXPECT_EQ(lzma_alone_encoder(&stream, &options), LZMA_OK);
    Buffer compressed(data.size() + 4096);
    stream.next_in = data.data();
    stream.avail_in = data.size();
    stream.next_out = compressed.data();
    stream.avail_out = compressed.size();
    EXPECT_EQ(lzma_code(&stream, LZMA_FINISH), LZMA_STREAM_END);
    compressed.resize(stream.total_out);
    lzma_end(&stream);
    return compressed;
}

Buffer xz_of(Bytes data) {
    lzma_options_lzma options = small_lzma_options();
    std::array<lzma_filter, 3> filters{{{.id = LZMA_FILTER_X86, .options = nullptr},
                                        {.id = LZMA_FILTER_LZMA2, .options = &options},
                                        {.id = LZMA_VLI_UNKNOWN, .options = nullptr}}};
    Buffer compressed(lzma_stream_buffer_bound(data.size()));
    std::size_t length = 0;
    EXPECT_EQ(lzma_stream_buffer_encode(filters.data(), LZMA_CHECK_CRC32, nullptr, data.data(), data.size(),
                                        compressed.data(), &length, compressed.size()),
              LZMA_OK);
    compressed.resize(length);
    return compressed;
}

Buffer zstd_of(Bytes data) {
    const std::unique_ptr<ZSTD_CCtx, EndZstd> context(ZSTD_createCCtx());
    EXPECT_FALSE(ZSTD_isError(ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1)));
    Buffer compressed(ZSTD_compressBound(data.size()));
    const std::size_t length =
        ZSTD_compress2(context.get(), compressed.data(), compressed.size(), data.data(), data.size());
    EXPECT_FALSE(ZSTD_isError(length));
    compressed.resize(length);
    return compressed;
}

Buffer lzop_header(const LzopForm& form) {
    constexpr std::string_view name = "vmlinux.bin";
    const bool is_long = form.version >= 0x0940;
    Buffer header;
    append_big_endian(header, form.version, 2);
    append_big_endian(header, 0x20a0, 2);
    if (is_long) {
        append_big_endian(header, 0x0940, 2);
    }
    header.push_back(form.method);
    if (is_long) {
        header.push_back(9);
    }
    append_big_endian(header, form.flags, 4);
    if ((form.flags & lzop_filter) != 0) {
        append_big_endian(header, form.filter, 4);
    }
    append_big_endian(header, 0100644, 4);
    append_big_endian(header, 0x12345678, 4);
    if (is_long) {
        append_big_endian(header, 0, 4);
    }
    header.push_back(static_cast<std::uint8_t>(name.size()));
    header.insert(header.end(), name.begin(), name.end());

    const bool is_crc32 = (form.flags & lzop_crc32_of_header) != 0;
    append_lzop_sum(header, Buffer(header), is_crc32);
    if ((form.flags & lzop_extra_field) != 0) {
        Buffer extra;
        append_big_endian(extra, 3, 4);
        append(extra, std::to_array<std::uint8_t>({1, 2, 3}));
        append_lzop_sum(extra, Buffer(extra), is_crc32);
        append(header, extra);
    }
    Buffer file{0x89, 'L', 'Z', 'O', 0x00, 0x0d, 0x0a, 0x1a, 0x0a};
    append(file, header);
    return file;
}

Buffer lzop_of(Bytes data, const LzopForm& form) {
    constexpr std::size_t block_size = 64 << 10U;
    Buffer file = lzop_header(form);
    for (; !data.empty(); data = data.subspan(std::min(data.size(), block_size))) {
        append_lzop_block(file, data.first(std::min(data.size(), block_size)), form.flags);
    }
    append_big_endian(file, 0, 4);
    return file;
}

Buffer lz4_of(Bytes data, std::size_t block_size) {
    Buffer file;
    append_little_endian_u32(file, lz4_magic);
    for (; !data.empty(); data = data.subspan(std::min(data.size(), block_size))) {
        const Bytes part = data.first(std::min(data.size(), block_size));
        Buffer compressed(static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(part.size()))));
        const int length = LZ4_compress_default(
            reinterpret_cast<const char*>(part.data()), reinterpret_cast<char*>(compressed.data()),
            static_cast<int>(part.size()), static_cast<int>(compressed.size()));
        EXPECT_GT(length, 0);
        compressed.resize(static_cast<std::size_t>(length));
        append_little_endian_u32(file, compressed.size());
        append(file, compressed);
    }
    return file;
}

std::vector<Sample> every_compression_of(Bytes data) {
    constexpr std::size_t lz4_block_size = 70'000;
    return {{.compression = Compression::none, .stream = Buffer(data.begin(), data.end())},
            {.compression = Compression::gzip, .stream = gzip_of(data)},
            {.compression = Compression::bzip2, .stream = bzip2_of(data)},
            {.compression = Compression::lzma, .stream = lzma_of(data)},
            {.compression = Compression::xz, .stream = xz_of(data)},
            {.compression = Compression::lzo, .stream = lzop_of(data)},
            {.compression = Compression::lz4, .stream = lz4_of(data, lz4_block_size)},
            {.compression = Compression::zstd, .stream = zstd_of(data)}};
}

Buffer sample_kernel(std::size_t size) {
    Buffer kernel(size);
    std::uint64_t state = 0x9e3779b97f4a7c15;
    for (std::size_t index = 0; index < size; ++index) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        if (index % 16 == 0) {
            kernel[index] = 0xe8;
        } else if (index % 16 > 10) {
            kernel[index] = static_cast<std::uint8_t>(state >> 56U);
        } else {
            kernel[index] = static_cast<std::uint8_t>(index / 4096);
        }
    }
    constexpr auto magic = std::to_array<std::uint8_t>({0x7f, 'E', 'L', 'F'});
    std::copy_n(magic.begin(), std::min(size, magic.size()), kernel.begin());
    return kernel;
}

const Buffer& kernel() {
    static const Buffer bytes = sample_kernel(200'001);
    return bytes;
}

const std::vector<Sample>& samples() {
    static const std::vector<Sample> every = every_compression_of(kernel());
    return every;
}

const Buffer& stream_of(Compression compression) {
    return std::ranges::find(samples(), compression, &Sample::compression)->stream;
}

std::string refusal(const std::function<void()>& action) {
    try {
        action();
    } catch (const InputError& error) {
        return error.what();
    }
    return "accepted";
}

testing::AssertionResult contains(const std::string& text, std::string_view part) {
    if (text.find(part) != std::string::npos) {
        return testing::AssertionSuccess();
    }
    return testing::AssertionFailure() << '"' << text << "\" does not contain \"" << part << '"';
}

} // namespace previrt
