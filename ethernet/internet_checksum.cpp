// SPDX-License-Identifier: BSD-2-Clause
#include "ethernet/internet_checksum.hpp"

#include <cstring>

namespace previrt::ethernet {

namespace {

constexpr std::size_t block_bytes = 64;

// A carry is added at the low end. From a C++ loop over words gcc makes three times as many instructions.
std::uint64_t add_block(std::uint64_t sum, const std::uint8_t* from) {
    asm("addq (%[from]), %[sum]\n\t"
        "adcq 8(%[from]), %[sum]\n\t"
        "adcq 16(%[from]), %[sum]\n\t"
        "adcq 24(%[from]), %[sum]\n\t"
        "adcq 32(%[from]), %[sum]\n\t"
        "adcq 40(%[from]), %[sum]\n\t"
        "adcq 48(%[from]), %[sum]\n\t"
        "adcq 56(%[from]), %[sum]\n\t"
        "adcq $0, %[sum]"
        : [sum] "+r"(sum)
        : [from] "r"(from), "m"(*reinterpret_cast<const std::uint8_t(*)[block_bytes]>(from))
        : "cc");
    return sum;
}

template <typename Word>
std::uint64_t add_word(std::uint64_t sum, const std::uint8_t* from) {
    Word word = 0;
    std::memcpy(&word, from, sizeof(word));
    sum += word;
    return sum + (sum < word ? 1 : 0);
}

} // namespace

std::uint16_t internet_sum(std::span<const std::uint8_t> bytes, std::uint64_t sum) {
    for (; bytes.size() >= block_bytes; bytes = bytes.subspan(block_bytes)) {
        sum = add_block(sum, bytes.data());
    }
    for (; bytes.size() >= sizeof(std::uint64_t); bytes = bytes.subspan(sizeof(std::uint64_t))) {
        sum = add_word<std::uint64_t>(sum, bytes.data());
    }
    for (; bytes.size() >= sizeof(std::uint16_t); bytes = bytes.subspan(sizeof(std::uint16_t))) {
        sum = add_word<std::uint16_t>(sum, bytes.data());
    }
    if (!bytes.empty()) {
        sum = add_word<std::uint8_t>(sum, bytes.data());
    }
    sum = (sum & 0xffff'ffffU) + (sum >> 32U);
    while (sum > all_ones) {
        sum = (sum & all_ones) + (sum >> 16U);
    }
    return static_cast<std::uint16_t>(sum);
}

} // namespace previrt::ethernet
