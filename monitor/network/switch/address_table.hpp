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

// The port of a switch at which each address was last seen. Each port has a limited number of entries, so
// that a port that invents addresses evicts only its own.
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
