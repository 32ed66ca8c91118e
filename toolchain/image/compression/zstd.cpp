// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/image/compression/formats.hpp"

#include "host/input_error.hpp"
#include "toolchain/image/compression/errors.hpp"

#include <memory>
#include <new>
#include <string>
#include <zstd.h>
#include <zstd_errors.h>

namespace previrt {

namespace {

using Bytes = std::span<const std::uint8_t>;

struct EndZstd {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

} // namespace

// In one call, so that the output serves as the window, whatever size the header names. The output is
// uninitialised: memory that the data do not fill costs nothing.
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

} // namespace previrt
