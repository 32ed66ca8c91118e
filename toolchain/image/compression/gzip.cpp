// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/image/compression/formats.hpp"

#include "toolchain/image/compression/output.hpp"

#define ZLIB_CONST // makes its input pointers const
#include <memory>
#include <new>
#include <zlib.h>

namespace previrt {

namespace {

using Bytes = std::span<const std::uint8_t>;

struct EndZlib {
    void operator()(z_stream* stream) const { inflateEnd(stream); }
};

} // namespace

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

} // namespace previrt
