// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace previrt::nvme {

// A structure of the specification, by the offsets of its fields. It begins with all zeros.
class Structure {
public:
    explicit Structure(std::span<std::uint8_t> bytes) : bytes_(bytes) {
        for (std::uint8_t& byte : bytes_) {
            byte = 0;
        }
    }

    template <typename Value>
    void set(std::size_t offset, Value value) {
        for (std::size_t i = 0; i < sizeof(Value); ++i) {
            bytes_[offset + i] = static_cast<std::uint8_t>(std::uint64_t{value} >> (8U * i));
        }
    }
    // Padded with spaces.
    void set_text(std::size_t offset, std::size_t length, std::string_view text) {
        for (std::size_t i = 0; i < length; ++i) {
            bytes_[offset + i] = static_cast<std::uint8_t>(i < text.size() ? text[i] : ' ');
        }
    }
    [[nodiscard]] std::span<std::uint8_t> at(std::size_t offset, std::size_t length) {
        return bytes_.subspan(offset, length);
    }

private:
    std::span<std::uint8_t> bytes_;
};

} // namespace previrt::nvme
