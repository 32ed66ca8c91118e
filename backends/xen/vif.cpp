// SPDX-License-Identifier: BSD-2-Clause
#include "backends/xen/vif.hpp"

#include "backends/xen/fixed_text.hpp"

#include <algorithm>

extern "C" {
#include <xen/io/xenbus.h>
}

namespace previrt::xen {

namespace {

constexpr std::string_view directory = "device/vif";
constexpr std::string_view state = "state";

std::optional<std::uint32_t> parse_number(std::string_view text, std::uint32_t most) {
    std::uint32_t number = 0;
    for (const char digit : text) {
        if (digit < '0' || digit > '9' || number > most / 10) {
            return {};
        }
        number = (number * 10) + static_cast<std::uint32_t>(digit - '0');
    }
    return text.empty() || number > most ? std::nullopt : std::optional(number);
}

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

std::optional<std::string_view> Vif::read(std::string_view name, std::span<char> room) {
    FixedText<longest_name> path;
    path << directory << "/" << std::string_view(number_, number_length_) << "/" << name;
    return store_->read(path.view(), room);
}

bool Vif::write(std::string_view name, std::string_view value) {
    FixedText<longest_name> path;
    path << directory << "/" << std::string_view(number_, number_length_) << "/" << name;
    return store_->write(path.view(), value);
}

bool Vif::write(std::string_view name, std::uint32_t value) {
    FixedText<16> text;
    text << value;
    return write(name, text.view());
}

bool Vif::find(Xenstore& store) {
    store_ = &store;
    char room[longest_name];
    const auto number = store.first_below(directory, room);
    if (!number || number->size() > sizeof(number_) || !parse_number(*number, 0xffff)) {
        return false;
    }
    number_length_ = number->size();
    std::ranges::copy(*number, number_);

    const auto domain = read("backend-id", room);
    const auto backend = parse_number(domain.value_or(""), DOMID_FIRST_RESERVED - 1);
    const auto text = read("mac", room);
    const auto address = parse_address(text.value_or(""));
    const auto place = read("backend", room);
    constexpr std::size_t longest_place = longest_name - 32; // leaves room for a name behind it
    if (!backend || !address || !place || !place->starts_with('/') || place->size() > longest_place) {
        return false;
    }
    backend_ = static_cast<std::uint16_t>(*backend);
    address_ = *address;
    backend_length_ = place->size();
    std::ranges::copy(*place, backend_name_);
    return true;
}

void Vif::offer(const VifEnds& ends) {
    ends_ = ends;
    is_closed_ = !store_->watch(of_backend(state).view());
}

// Packets to this domain may be longer than a page, lack checksums, or need cutting, but not in IPv6: the VMM
// computes no checksums of IPv6.
bool Vif::tell(const VifEnds& ends) {
    return write("tx-ring-ref", ends.transmit_ring) && write("rx-ring-ref", ends.receive_ring) &&
           write("event-channel", ends.port) && write("request-rx-copy", 1) &&
           write("feature-rx-notify", 1) && write("feature-sg", 1) && write("feature-gso-tcpv4", 1) &&
           write("feature-ipv6-csum-offload", std::uint32_t{0}) && write("state", XenbusStateConnected);
}

FixedText<Vif::longest_name> Vif::of_backend(std::string_view name) const {
    FixedText<longest_name> path;
    path << std::string_view(backend_name_, backend_length_) << "/" << name;
    return path;
}

std::uint32_t Vif::read_of_backend(std::string_view name, std::uint32_t most, std::uint32_t otherwise) {
    char room[16];
    const auto text = store_->read(of_backend(name).view(), room);
    return parse_number(text.value_or(""), most).value_or(otherwise);
}

void Vif::follow() {
    switch (read_of_backend(state, XenbusStateReconfigured, XenbusStateClosed)) {
    case XenbusStateInitWait:
        if (!is_offered_) {
            is_offered_ = true;
            takes_pieces_ = read_of_backend("feature-sg", 1, 0) != 0;
            takes_segments_ = read_of_backend("feature-gso-tcpv4", 1, 0) != 0;
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
        write("state", XenbusStateClosed);
        break;
    default:
        break;
    }
}

bool Vif::is_connected() {
    while (!is_closed_ && store_->take_events()) {
        follow();
    }
    return is_connected_;
}

} // namespace previrt::xen
