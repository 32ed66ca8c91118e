// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/network/switch/address_table.hpp"

#include <algorithm>

namespace previrt {

namespace {

std::uint64_t number_of(const MacAddress& address) {
    std::uint64_t number = 0;
    for (const std::uint8_t byte : address) {
        number = number << 8U | byte;
    }
    return number;
}

} // namespace

void AddressTable::learn(const MacAddress& address, std::size_t port) {
    const std::uint64_t number = number_of(address);
    if (number == 0) {
        return;
    }
    const auto [place, is_new] = port_of_.try_emplace(number, port);
    if (!is_new) {
        if (place->second == port) {
            return;
        }
        std::ranges::replace(of_port_[place->second].known, number, 0);
        place->second = port;
    }
    Addresses& addresses = of_port_[port];
    std::uint64_t& oldest = addresses.known.at(addresses.next);
    addresses.next = (addresses.next + 1) % most_of_a_port;
    port_of_.erase(oldest);
    oldest = number;
}

std::optional<std::size_t> AddressTable::find(const MacAddress& address) const {
    const auto place = port_of_.find(number_of(address));
    return place == port_of_.end() ? std::nullopt : std::optional(place->second);
}

void AddressTable::forget_port(std::size_t port) {
    for (const std::uint64_t number : of_port_[port].known) {
        port_of_.erase(number);
    }
    of_port_[port] = {};
}

} // namespace previrt
