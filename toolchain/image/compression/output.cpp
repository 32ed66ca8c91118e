// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/image/compression/output.hpp"

#include "toolchain/image/compression/errors.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace previrt {

namespace {

constexpr std::size_t first_allocation = std::size_t{4} << 20U;
constexpr std::size_t longest_step = std::size_t{1} << 30U; // zlib and libbz2 count in 32 bits

} // namespace

std::span<std::uint8_t> Output::space() {
    if (filled_ == bytes_.size()) {
        grow_to(filled_ + std::min(remaining() + 1, first_allocation));
    }
    return std::span(bytes_).subspan(filled_);
}

std::span<std::uint8_t> Output::space_for(std::size_t length) {
    grow_to(filled_ + length);
    return std::span(bytes_).subspan(filled_, length);
}

void Output::add(std::size_t length) {
    if (length > remaining()) {
        throw_holds_more(claimed_);
    }
    filled_ += length;
}

std::vector<std::uint8_t> Output::finish() && {
    check_claim_is_met(filled_, claimed_);
    bytes_.resize(claimed_);
    return std::move(bytes_);
}

void Output::grow_to(std::size_t needed) {
    if (needed > bytes_.size()) {
        const std::size_t size = std::max(needed, std::min(2 * bytes_.size(), claimed_ + 1));
        bytes_.reserve(claimed_ + 1); // untouched memory costs nothing
        bytes_.resize(size);
    }
}

std::vector<std::uint8_t> run_stream(Compression compression, std::span<const std::uint8_t> data,
                                     std::size_t expected_size, const Decode& decode) {
    Output output(expected_size);
    std::size_t position = 0;
    bool finished = false;
    while (!finished) {
        const std::span<const std::uint8_t> input =
            data.subspan(position, std::min(data.size() - position, longest_step));
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

} // namespace previrt
