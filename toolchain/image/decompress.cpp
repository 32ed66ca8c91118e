// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/image/decompress.hpp"

#include "toolchain/image/input_error.hpp"

#define ZLIB_CONST // its input pointers are to const
#include <algorithm>
#include <array>
#include <bzlib.h>
#include <limits>
#include <lz4.h>
#include <lzma.h>
#include <lzo/lzo1x.h>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

namespace previrt {

namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::size_t mebibyte = std::size_t{1} << 20U;
constexpr std::size_t largest_claim = 1024 * mebibyte;
constexpr std::size_t first_allocation = 4 * mebibyte;
constexpr std::size_t longest_step = 1024 * mebibyte; // zlib and libbz2 count in 32 bits

constexpr auto gzip_magic = std::to_array<std::uint8_t>({0x1f, 0x8b});
constexpr auto bzip2_magic = std::to_array<std::uint8_t>({'B', 'Z', 'h'});
constexpr auto lzma_magic = std::to_array<std::uint8_t>({0x5d, 0x00, 0x00});
constexpr auto xz_magic = std::to_array<std::uint8_t>({0xfd, '7', 'z', 'X', 'Z', 0x00});
constexpr auto lzop_magic = std::to_array<std::uint8_t>({0x89, 'L', 'Z', 'O', 0x00, 0x0d, 0x0a, 0x1a, 0x0a});
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

[[noreturn]] void throw_ends_early(const std::string& words) {
    throw InputError("compressed kernel ends early: " + words);
}

[[noreturn]] void throw_holds_more(std::size_t claimed) {
    throw InputError("compressed kernel holds more than the " + std::to_string(claimed) + " bytes it claims");
}

[[noreturn]] void throw_damaged(Compression compression, std::string_view words, std::size_t offset) {
    throw InputError("compressed kernel is damaged: " + std::string(words) + " (" +
                     std::string(name_of(compression)) + " data, near byte " + std::to_string(offset) + ")");
}

void check_nothing_follows(Compression compression, Bytes data, std::size_t end) {
    if (end != data.size()) {
        throw_damaged(compression, std::to_string(data.size() - end) + " bytes follow its end", end);
    }
}

void check_claim_is_met(std::size_t produced, std::size_t claimed) {
    if (produced < claimed) {
        throw_ends_early("it gives " + std::to_string(produced) + " of the " + std::to_string(claimed) +
                         " bytes it claims");
    }
}

// Grows as data arrive, so that a false claim costs no memory.
class Output {
public:
    explicit Output(std::size_t claimed) : claimed_(claimed) {}

    [[nodiscard]] std::size_t remaining() const { return claimed_ - filled_; }

    // Never empty: it may reach one byte past the claim, where a surplus shows.
    std::span<std::uint8_t> space() {
        if (filled_ == bytes_.size()) {
            grow_to(filled_ + std::min(remaining() + 1, first_allocation));
        }
        return std::span(bytes_).subspan(filled_);
    }

    std::span<std::uint8_t> space_for(std::size_t length) {
        grow_to(filled_ + length);
        return std::span(bytes_).subspan(filled_, length);
    }

    void add(std::size_t length) {
        if (length > remaining()) {
            throw_holds_more(claimed_);
        }
        filled_ += length;
    }

    std::vector<std::uint8_t> finish() && {
        check_claim_is_met(filled_, claimed_);
        bytes_.resize(claimed_);
        return std::move(bytes_);
    }

private:
    void grow_to(std::size_t needed) {
        if (needed > bytes_.size()) {
            const std::size_t size = std::max(needed, std::min(2 * bytes_.size(), claimed_ + 1));
            bytes_.reserve(size);
            bytes_.resize(size);
        }
    }

    std::size_t claimed_;
    std::size_t filled_ = 0;
    std::vector<std::uint8_t> bytes_;
};

struct Step {
    std::size_t consumed;
    std::size_t produced;
    bool finished;
    std::string_view damage; // the library's words; empty when there is none
};

// `decode` takes input and output space and gives the Step it made.
template <typename Decode>
std::vector<std::uint8_t> run_stream(Compression compression, Bytes data, std::size_t expected_size,
                                     Decode decode) {
    Output output(expected_size);
    std::size_t position = 0;
    bool finished = false;
    while (!finished) {
        const Bytes input = data.subspan(position, std::min(data.size() - position, longest_step));
        const Step step = decode(input, output.space());
        position += step.consumed;
        output.add(step.produced);
        if (!step.damage.empty()) {
            throw_damaged(compression, step.damage, position);
        }
        finished = step.finished;
        if (!finished && step.consumed == 0 && step.produced == 0) {
            throw_ends_early("its " + std::string(name_of(compression)) + " data go on after byte " +
                             std::to_string(position));
        }
    }
    check_nothing_follows(compression, data, position);
    return std::move(output).finish();
}

struct EndZlib {
    void operator()(z_stream* stream) const { inflateEnd(stream); }
};

std::vector<std::uint8_t> decompress_gzip(Bytes data, std::size_t expected_size) {
    constexpr int window_bits = MAX_WBITS | 16; // 16: a gzip header and trailer
    z_stream stream{};
    if (inflateInit2(&stream, window_bits) != Z_OK) {
        throw std::bad_alloc();
    }
    const std::unique_ptr<z_stream, EndZlib> owner(&stream);
    return run_stream(Compression::gzip, data, expected_size,
                      [&](Bytes input, std::span<std::uint8_t> space) {
                          stream.next_in = input.data();
                          stream.avail_in = static_cast<uInt>(input.size());
                          stream.next_out = space.data();
                          stream.avail_out = static_cast<uInt>(space.size());
                          const int result = inflate(&stream, Z_NO_FLUSH);
                          if (result == Z_MEM_ERROR) {
                              throw std::bad_alloc();
                          }
                          Step step{.consumed = input.size() - stream.avail_in,
                                    .produced = space.size() - stream.avail_out,
                                    .finished = result == Z_STREAM_END,
                                    .damage = {}};
                          if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
                              step.damage = stream.msg != nullptr ? stream.msg : zError(result);
                          }
                          return step;
                      });
}

struct EndBzip2 {
    void operator()(bz_stream* stream) const { BZ2_bzDecompressEnd(stream); }
};

std::string_view bzip2_words(int result) {
    switch (result) {
    case BZ_OK:
    case BZ_STREAM_END:
        return {};
    case BZ_DATA_ERROR:
        return "data integrity (CRC) error";
    case BZ_DATA_ERROR_MAGIC:
        return "bad magic number";
    default:
        return "unexpected error";
    }
}

std::vector<std::uint8_t> decompress_bzip2(Bytes data, std::size_t expected_size) {
    bz_stream stream{};
    if (BZ2_bzDecompressInit(&stream, 0, 0) != BZ_OK) {
        throw std::bad_alloc();
    }
    const std::unique_ptr<bz_stream, EndBzip2> owner(&stream);
    return run_stream(Compression::bzip2, data, expected_size,
                      [&](Bytes input, std::span<std::uint8_t> space) {
                          stream.next_in = const_cast<char*>(reinterpret_cast<const char*>(input.data()));
                          stream.avail_in = static_cast<unsigned>(input.size());
                          stream.next_out = reinterpret_cast<char*>(space.data());
                          stream.avail_out = static_cast<unsigned>(space.size());
                          const int result = BZ2_bzDecompress(&stream);
                          if (result == BZ_MEM_ERROR) {
                              throw std::bad_alloc();
                          }
                          return Step{.consumed = input.size() - stream.avail_in,
                                      .produced = space.size() - stream.avail_out,
                                      .finished = result == BZ_STREAM_END,
                                      .damage = bzip2_words(result)};
                      });
}

struct EndLzma {
    void operator()(lzma_stream* stream) const { lzma_end(stream); }
};

// The header names a dictionary size, which liblzma allocates at once (Linux uses up to 128 MiB).
std::uint64_t lzma_memory_limit(std::size_t expected_size) {
    return std::max(expected_size, 128 * mebibyte) + (16 * mebibyte);
}

std::string_view lzma_words(lzma_ret result) {
    switch (result) {
    case LZMA_OK:
    case LZMA_STREAM_END:
    case LZMA_BUF_ERROR:
        return {};
    case LZMA_FORMAT_ERROR:
        return "file format not recognized";
    case LZMA_OPTIONS_ERROR:
        return "unsupported options";
    case LZMA_MEMLIMIT_ERROR:
        return "dictionary far larger than the kernel";
    case LZMA_DATA_ERROR:
        return "data is corrupt";
    default:
        return "unexpected error";
    }
}

std::vector<std::uint8_t> run_lzma(Compression compression, lzma_stream& stream, Bytes data,
                                   std::size_t expected_size) {
    return run_stream(compression, data, expected_size, [&](Bytes input, std::span<std::uint8_t> space) {
        stream.next_in = input.data();
        stream.avail_in = input.size();
        stream.next_out = space.data();
        stream.avail_out = space.size();
        const lzma_ret result = lzma_code(&stream, LZMA_RUN);
        if (result == LZMA_MEM_ERROR) {
            throw std::bad_alloc();
        }
        return Step{.consumed = input.size() - stream.avail_in,
                    .produced = space.size() - stream.avail_out,
                    .finished = result == LZMA_STREAM_END,
                    .damage = lzma_words(result)};
    });
}

std::vector<std::uint8_t> decompress_lzma(Bytes data, std::size_t expected_size) {
    lzma_stream stream = LZMA_STREAM_INIT;
    if (lzma_alone_decoder(&stream, lzma_memory_limit(expected_size)) != LZMA_OK) {
        throw std::bad_alloc();
    }
    const std::unique_ptr<lzma_stream, EndLzma> owner(&stream);
    return run_lzma(Compression::lzma, stream, data, expected_size);
}

std::vector<std::uint8_t> decompress_xz(Bytes data, std::size_t expected_size) {
    lzma_stream stream = LZMA_STREAM_INIT;
    if (lzma_stream_decoder(&stream, lzma_memory_limit(expected_size), 0) != LZMA_OK) {
        throw std::bad_alloc();
    }
    const std::unique_ptr<lzma_stream, EndLzma> owner(&stream);
    return run_lzma(Compression::xz, stream, data, expected_size);
}

class Reader {
public:
    explicit Reader(Bytes data) : data_(data) {}

    [[nodiscard]] std::size_t position() const { return position_; }
    [[nodiscard]] bool at_end() const { return position_ == data_.size(); }
    [[nodiscard]] Bytes since(std::size_t start) const { return data_.subspan(start, position_ - start); }

    Bytes take(std::size_t length) {
        if (length > data_.size() - position_) {
            throw_ends_early(std::to_string(length) + " bytes expected at byte " + std::to_string(position_) +
                             " of " + std::to_string(data_.size()));
        }
        const Bytes taken = data_.subspan(position_, length);
        position_ += length;
        return taken;
    }

    std::uint8_t byte() { return take(1)[0]; }

    std::uint32_t big_endian(std::size_t length) {
        std::uint32_t value = 0;
        for (const std::uint8_t byte : take(length)) {
            value = value << 8U | byte;
        }
        return value;
    }

    std::uint32_t little_endian_u32() {
        const Bytes bytes = take(4);
        return bytes[0] | std::uint32_t{bytes[1]} << 8U | std::uint32_t{bytes[2]} << 16U |
               std::uint32_t{bytes[3]} << 24U;
    }

private:
    Bytes data_;
    std::size_t position_ = 0;
};

// Of both LZO and LZ4: a byte of input makes at most this many bytes of output.
constexpr std::size_t largest_expansion = 255;

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

// Gives the flags.
std::uint32_t read_lzop_header(Reader& reader) {
    if (!starts_with(reader.take(lzop_magic.size()), lzop_magic)) {
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

std::vector<std::uint8_t> decompress_lzo(Bytes data, std::size_t expected_size) {
    constexpr std::size_t largest_block = 64 * mebibyte;
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

std::vector<std::uint8_t> decompress_lz4(Bytes data, std::size_t expected_size) {
    constexpr std::size_t largest_block = 8 * mebibyte;
    constexpr std::uint32_t largest_compressed_block = LZ4_COMPRESSBOUND(largest_block);
    constexpr std::uint32_t magic = 0x184c2102;
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

struct EndZstd {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

// In one piece, so that the output serves as the window, whatever window the header names. The space is left
// uninitialised: what the data do not fill costs no memory.
std::vector<std::uint8_t> decompress_zstd(Bytes data, std::size_t expected_size) {
    const auto check = [&](std::size_t result) {
        if (ZSTD_isError(result) == 0) {
            return;
        }
        switch (ZSTD_getErrorCode(result)) {
        case ZSTD_error_memory_allocation:
            throw std::bad_alloc();
        case ZSTD_error_srcSize_wrong:
            throw_ends_early("its zstd data go on after byte " + std::to_string(data.size()));
        case ZSTD_error_dstSize_tooSmall:
            throw_holds_more(expected_size);
        default:
            throw InputError("compressed kernel is damaged: " + std::string(ZSTD_getErrorName(result)) +
                             " (zstd data)");
        }
    };
    const std::size_t frame_size = ZSTD_findFrameCompressedSize(data.data(), data.size());
    check(frame_size);
    check_nothing_follows(Compression::zstd, data, frame_size);
    const std::unique_ptr<ZSTD_DCtx, EndZstd> context(ZSTD_createDCtx());
    if (!context) {
        throw std::bad_alloc();
    }
    const auto space = std::make_unique_for_overwrite<std::uint8_t[]>(expected_size);
    const std::size_t produced =
        ZSTD_decompressDCtx(context.get(), space.get(), expected_size, data.data(), data.size());
    check(produced);
    check_claim_is_met(produced, expected_size);
    return {space.get(), space.get() + produced};
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
