// SPDX-License-Identifier: BSD-2-Clause
#include "devices/dp83820/receive_filter.hpp"

#include "devices/dp83820/frame_check.hpp"
#include "devices/dp83820/registers.hpp"

#include <algorithm>

namespace previrt::dp83820 {

using namespace ethernet;

namespace {

// RFADDR
constexpr std::uint32_t address_end = 0x006;
constexpr std::uint32_t pattern_counts_end = 0x00a;
constexpr std::uint32_t secure_on_start = 0x00a;
constexpr std::uint32_t secure_on_end = 0x010;
constexpr std::uint32_t hash_start = 0x100;
constexpr std::uint32_t hash_end = 0x200;

constexpr std::uint32_t mask_data = 0xffff;
constexpr std::uint8_t group_bit = 1;
constexpr std::uint8_t local_bit = 2;

constexpr std::uint32_t reversed(std::uint32_t value) {
    std::uint32_t result = 0;
    for (unsigned bit = 0; bit < 32; ++bit) {
        result |= ((value >> bit) & 1U) << (31U - bit);
    }
    return result;
}

bool is_broadcast(Frame frame) {
    return std::ranges::all_of(frame.first(sizeof(MacAddress)),
                               [](std::uint8_t byte) { return byte == 0xff; });
}

} // namespace

bool ReceiveFilter::is_own(Frame frame) const {
    const std::uint8_t ignored = (control & rfcr_ulm) != 0 ? local_bit : 0;
    std::uint8_t difference =
        static_cast<std::uint8_t>(frame[0] ^ address[0]) & static_cast<std::uint8_t>(~ignored);
    for (std::size_t i = 1; i < address.size(); ++i) {
        difference |= static_cast<std::uint8_t>(frame[i] ^ address[i]);
    }
    return difference == 0;
}

bool ReceiveFilter::is_hashed(Frame frame) const {
    const std::uint32_t index = reversed(frame_check(frame.first(sizeof(MacAddress)))) >> 21U;
    return ((hash[index >> 4U] >> (index & 15U)) & 1U) != 0;
}

Destination ReceiveFilter::accept(Frame frame) const {
    if ((control & rfcr_rfen) == 0 || frame.size() < header_bytes) {
        return Destination::rejected;
    }
    const auto enabled = [this](std::uint32_t bit) { return (control & bit) != 0; };
    const bool arp = enabled(rfcr_aarp) && read_big_endian(frame, addresses_bytes) == type_arp;
    if (is_broadcast(frame)) {
        return arp || enabled(rfcr_aab) ? Destination::broadcast : Destination::rejected;
    }
    if ((frame[0] & group_bit) != 0) {
        return arp || enabled(rfcr_aam) || (enabled(rfcr_mhen) && is_hashed(frame)) ? Destination::multicast
                                                                                    : Destination::rejected;
    }
    return arp || enabled(rfcr_aau) || (enabled(rfcr_apm) && is_own(frame)) ||
                   (enabled(rfcr_uhen) && is_hashed(frame))
               ? Destination::unicast
               : Destination::rejected;
}

std::optional<std::uint32_t> ReceiveFilter::read_data() const {
    const std::uint32_t place = control & rfcr_rfaddr & ~1U;
    if (place < address_end) {
        return address[place] | (static_cast<std::uint32_t>(address[place + 1]) << 8U);
    }
    if (place < pattern_counts_end) {
        return 0;
    }
    if (place >= secure_on_start && place < secure_on_end) {
        return secure_on[(place - secure_on_start) / 2];
    }
    if (place >= hash_start && place < hash_end) {
        return hash[(place - hash_start) / 2];
    }
    return std::nullopt;
}

bool ReceiveFilter::write_data(std::uint32_t value) {
    const std::uint32_t place = control & rfcr_rfaddr & ~1U;
    const auto data = static_cast<std::uint16_t>(value & mask_data);
    if (place < address_end) {
        address[place] = static_cast<std::uint8_t>(data);
        address[place + 1] = static_cast<std::uint8_t>(data >> 8U);
        return true;
    }
    if (place < pattern_counts_end) {
        return data == 0;
    }
    if (place >= secure_on_start && place < secure_on_end) {
        secure_on[(place - secure_on_start) / 2] = data;
        return true;
    }
    if (place >= hash_start && place < hash_end) {
        hash[(place - hash_start) / 2] = data;
        return true;
    }
    return false;
}

} // namespace previrt::dp83820
