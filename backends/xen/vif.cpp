// SPDX-License-Identifier: BSD-2-Clause
#include "backends/xen/vif.hpp"

#include <string_view>

extern "C" {
#include <xen/io/xenbus.h>
}

namespace previrt::xen {

namespace {

constexpr std::string_view directory = "device/vif";

std::optional<std::uint8_t> parse_hexadecimal(char digit) {
    if (digit >= '0' && digit <= '9') {
        return static_cast<std::uint8_t>(digit - '0');
    }
    const int letter = (digit | 0x20) - 'a';
    return letter < 0 || letter > 5 ? std::nullopt : std::optional(static_cast<std::uint8_t>(10 + letter));
}

std::optional<Vif::Address> parse_address(std::string_view text) {
    constexpr std::size_t stride = 3; // two digits and a colon
    constexpr std::uint8_t group = 1;
    Vif::Address address{};
    if (text.size() != (address.size() * stride) - 1) {
        return {};
    }
    for (std::size_t i = 0; i < address.size(); ++i) {
        const auto high = parse_hexadecimal(text[i * stride]);
        const auto low = parse_hexadecimal(text[(i * stride) + 1]);
        if (!high || !low || (i != 0 && text[(i * stride) - 1] != ':')) {
            return {};
        }
        address[i] = static_cast<std::uint8_t>((*high << 4U) | *low);
    }
    return (address[0] & group) != 0 ? std::nullopt : std::optional(address);
}

} // namespace

bool Vif::find(Xenstore& store) {
    std::uint32_t number = 0;
    if (find_devices(store, directory, {&number, 1}) == 0 || !node_.find(store, directory, number)) {
        return false;
    }
    char room[32];
    const auto address = parse_address(node_.read("mac", room).value_or(""));
    address_ = address.value_or(Address{});
    return address.has_value();
}

void Vif::offer(const VifEnds& ends) {
    ends_ = ends;
    is_closed_ = !node_.watch_backend();
}

// Packets to this domain may be longer than a page, lack checksums, or need cutting, but not in IPv6: the VMM
// computes no checksums of IPv6.
bool Vif::tell(const VifEnds& ends) {
    return node_.write("tx-ring-ref", ends.transmit_ring) && node_.write("rx-ring-ref", ends.receive_ring) &&
           node_.write("event-channel", ends.port) && node_.write("request-rx-copy", 1) &&
           node_.write("feature-rx-notify", 1) && node_.write("feature-sg", 1) &&
           node_.write("feature-gso-tcpv4", 1) &&
           node_.write("feature-ipv6-csum-offload", std::uint32_t{0}) &&
           node_.write("state", XenbusStateConnected);
}

void Vif::follow(unsigned state) {
    switch (state) {
    case XenbusStateInitWait:
        if (!is_offered_) {
            is_offered_ = true;
            takes_pieces_ = node_.number_of_backend("feature-sg", 1, 0) != 0;
            takes_segments_ = node_.number_of_backend("feature-gso-tcpv4", 1, 0) != 0;
            is_closed_ = !tell(ends_);
        }
        break;
    case XenbusStateConnected:
        is_connected_ = is_offered_;
        break;
    case XenbusStateClosing:
    case XenbusStateClosed:
        is_connected_ = false;
        is_closed_ = true;
        node_.write("state", XenbusStateClosed);
        break;
    default:
        break;
    }
}

bool Vif::is_connected() {
    node_.follow_changes(is_closed_, [this](unsigned state) { follow(state); });
    return is_connected_;
}

} // namespace previrt::xen
