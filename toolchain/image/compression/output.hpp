// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "toolchain/image/decompress.hpp"

#include <functional>

namespace previrt {

// Grows as data arrive, so that a false claim costs no memory.
class Output {
public:
    explicit Output(std::size_t claimed) : claimed_(claimed) {}

    [[nodiscard]] std::size_t remaining() const { return claimed_ - filled_; }

    // Never empty: it may reach one byte past the claim, to detect a surplus.
    std::span<std::uint8_t> space();
    std::span<std::uint8_t> space_for(std::size_t length);
    void add(std::size_t length);

    std::vector<std::uint8_t> finish() &&;

private:
    void grow_to(std::size_t needed);

    std::size_t claimed_;
    std::size_t filled_ = 0;
    std::vector<std::uint8_t> bytes_;
};

struct Step {
    std::size_t consumed;
    std::size_t produced;
    bool finished;
    std::string_view damage; // the library's message; empty if there is no damage
};

// Gets input and output space, and returns its Step.
using Decode = std::function<Step(std::span<const std::uint8_t> input, std::span<std::uint8_t> space)>;

std::vector<std::uint8_t> run_stream(Compression compression, std::span<const std::uint8_t> data,
                                     std::size_t expected_size, const Decode& decode);

} // namespace previrt
