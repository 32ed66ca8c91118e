// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/network/choice.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace previrt {

// Behind which port of a switch an address was last seen. A port has so many, so that one which invents
// addresses forgets its own and nobody else's.
class AddressTable {
public:
    static constexpr std::size_t most_of_a_port = 64;

    explicit AddressTable(std::size_t ports) : of_port_(ports) {}

    void learn(const MacAddress& address, std::size_t port);
    [[nodiscard]] std::optional<std::size_t> find(const MacAddress& address) const;
    void forget_port(std::size_t port);
    [[nodiscard]] std::size_t size() const { return port_of_.size(); }

private:
    struct Addresses {
        std::array<std::uint64_t, most_of_a_port> known{}; // 0: none
        std::size_t next = 0;
    };
    std::unordered_map<std::uint64_t, std::size_t> port_of_;
    std::vector<Addresses> of_port_;
};

} // namespace previrt
