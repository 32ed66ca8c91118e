// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/image/compression/formats.hpp"

#include "toolchain/image/compression/output.hpp"

#include <algorithm>
#include <lzma.h>
#include <memory>
#include <new>

namespace previrt {

namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::size_t mebibyte = std::size_t{1} << 20U;

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

} // namespace

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

} // namespace previrt
