// SPDX-License-Identifier: BSD-2-Clause
#include "devices/ethernet/internet_checksum.hpp"

#include <cstring>

namespace previrt::ethernet {

std::uint16_t internet_sum(std::span<const std::uint8_t> bytes, std::uint64_t sum) {
    std::size_t done = 0;
    const auto word_at = [&bytes](std::size_t offset) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + offset, sizeof(word));
        return word;
    };
    unsigned __int128 wide = sum; // keeps all carries
    for (; done + 32 <= bytes.size(); done += 32) {
        wide += word_at(done);
        wide += word_at(done + 8);
        wide += word_at(done + 16);
        wide += word_at(done + 24);
    }
    for (; done + 8 <= bytes.size(); done += 8) {
        wide += word_at(done);
    }
    const auto low = static_cast<std::uint64_t>(wide);
    sum = (low & 0xffff'ffffU) + (low >> 32U) + static_cast<std::uint64_t>(wide >> 64U);
    for (; done + 2 <= bytes.size(); done += 2) {
        std::uint16_t word = 0;
        std::memcpy(&word, bytes.data() + done, sizeof(word));
        sum += word;
    }
    if (done < bytes.size()) {
        sum += bytes[done];
    }
    while (sum > all_ones) {
        sum = (sum & all_ones) + (sum >> 16U);
    }
    return static_cast<std::uint16_t>(sum);
}

} // namespace previrt::ethernet
