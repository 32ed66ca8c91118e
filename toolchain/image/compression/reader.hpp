// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "toolchain/image/compression/errors.hpp"

namespace previrt {

class Reader {
public:
    explicit Reader(std::span<const std::uint8_t> data) : data_(data) {}

    [[nodiscard]] std::size_t position() const { return position_; }
    [[nodiscard]] bool at_end() const { return position_ == data_.size(); }
    [[nodiscard]] std::span<const std::uint8_t> since(std::size_t start) const {
        return data_.subspan(start, position_ - start);
    }

    std::span<const std::uint8_t> take(std::size_t length) {
        if (length > data_.size() - position_) {
            throw_ends_early(std::to_string(length) + " bytes expected at byte " + std::to_string(position_) +
                             " of " + std::to_string(data_.size()));
        }
        const std::span<const std::uint8_t> taken = data_.subspan(position_, length);
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
        const std::span<const std::uint8_t> bytes = take(4);
        return bytes[0] | std::uint32_t{bytes[1]} << 8U | std::uint32_t{bytes[2]} << 16U |
               std::uint32_t{bytes[3]} << 24U;
    }

private:
    std::span<const std::uint8_t> data_;
    std::size_t position_ = 0;
};

} // namespace previrt
