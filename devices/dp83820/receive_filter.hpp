// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "ethernet/frame.hpp"

#include <array>
#include <cstdint>
#include <optional>

namespace previrt::dp83820 {

// DEST of a receive descriptor.
enum class Destination : std::uint8_t { rejected, unicast, multicast, broadcast };

// RFCR, and the memory behind RFDR.
struct ReceiveFilter {
    std::uint32_t control = 0;      // RFCR
    ethernet::MacAddress address{}; // PMATCH
    std::array<std::uint16_t, 3> secure_on{};
    std::array<std::uint16_t, 128> hash{};

    [[nodiscard]] Destination accept(ethernet::Frame frame) const;

    // nullopt, false: pattern matching is not modelled. Pattern lengths are 0, so that no pattern matches.
    [[nodiscard]] std::optional<std::uint32_t> read_data() const;
    bool write_data(std::uint32_t value);

private:
    [[nodiscard]] bool is_own(ethernet::Frame frame) const;
    [[nodiscard]] bool is_hashed(ethernet::Frame frame) const;
};

} // namespace previrt::dp83820
