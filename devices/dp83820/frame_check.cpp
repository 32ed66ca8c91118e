// SPDX-License-Identifier: BSD-2-Clause
#include "devices/dp83820/frame_check.hpp"

namespace previrt::dp83820 {

namespace {

constexpr std::uint32_t polynomial = 0xedb8'8320;

constexpr std::array<std::uint32_t, 256> make_table() {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
        std::uint32_t crc = byte;
        for (unsigned bit = 0; bit < 8; ++bit) {
            crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? polynomial : 0);
        }
        table[byte] = crc;
    }
    return table;
}

constexpr std::array<std::uint32_t, 256> table = make_table();

} // namespace

std::uint32_t frame_check(std::span<const std::uint8_t> bytes, std::uint32_t crc) {
    for (const std::uint8_t byte : bytes) {
        crc = (crc >> 8U) ^ table[(crc ^ byte) & 0xffU];
    }
    return crc;
}

} // namespace previrt::dp83820
