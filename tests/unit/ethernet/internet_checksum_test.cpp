// SPDX-License-Identifier: BSD-2-Clause
#include "ethernet/internet_checksum.hpp"

#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace previrt::ethernet {
namespace {

// As RFC 1071 puts it: 16 bits at a time.
std::uint16_t sum_by_words(std::span<const std::uint8_t> bytes, std::uint64_t sum) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        sum += std::uint64_t{bytes[i]} << (i % 2 == 0 ? 0U : 8U);
    }
    while (sum > all_ones) {
        sum = (sum & all_ones) + (sum >> 16U);
    }
    return static_cast<std::uint16_t>(sum);
}

TEST(InternetChecksum, isThatOfTheWords) {
    std::mt19937 random(1);
    std::vector<std::uint8_t> bytes(300);
    for (std::uint8_t& byte : bytes) {
        byte = static_cast<std::uint8_t>(random());
    }
    for (std::size_t start = 0; start < 9; ++start) {
        for (std::size_t size = 0; start + size <= bytes.size(); ++size) {
            const auto part = std::span<const std::uint8_t>(bytes).subspan(start, size);
            ASSERT_EQ(internet_sum(part), sum_by_words(part, 0)) << start << " " << size;
            ASSERT_EQ(internet_sum(part, 0x1'fffe), sum_by_words(part, 0x1'fffe)) << start << " " << size;
        }
    }
}

TEST(InternetChecksum, losesNoCarry) {
    const std::vector<std::uint8_t> ones(70000, 0xff);
    for (const std::size_t size : {1U, 2U, 7U, 8U, 63U, 64U, 65U, 128U, 70000U}) {
        const auto part = std::span<const std::uint8_t>(ones).first(size);
        ASSERT_EQ(internet_sum(part), sum_by_words(part, 0)) << size;
        ASSERT_EQ(internet_sum(part, 1), sum_by_words(part, 1)) << size;
    }
    const std::vector<std::uint8_t> zeros(200);
    EXPECT_EQ(internet_sum(zeros), 0);
    EXPECT_EQ(internet_sum(zeros, 5), 5);
}

} // namespace
} // namespace previrt::ethernet
