// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/image/compression/formats.hpp"

#include "toolchain/image/compression/output.hpp"

#include <bzlib.h>
#include <memory>
#include <new>

namespace previrt {

namespace {

using Bytes = std::span<const std::uint8_t>;

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

} // namespace

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

} // namespace previrt
