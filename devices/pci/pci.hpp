// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/pci/pci_function.hpp"

#include <array>
#include <cstdint>
#include <type_traits>

namespace previrt {

// PCI configuration mechanism 1, and bus 0. Absent functions read all ones.
struct Pci {
    static constexpr std::uint32_t most_functions = 17;
    static constexpr std::uint16_t address_port = 0xcf8;
    static constexpr std::uint16_t data_port = 0xcfc;

    std::uint32_t address = 0; // CONFIG_ADDRESS
    std::uint32_t function_count = 0;
    std::array<PciFunction, most_functions> functions{};

    // nullptr: there is no such position, it is taken, or there is no room.
    PciFunction* add(unsigned device, unsigned function, const PciIdentity& identity);
    PciFunction* find(unsigned device, unsigned function);
    // Intel 82441FX, at 00:00.0.
    bool add_host_bridge();

    // Only 32-bit accesses reach CONFIG_ADDRESS.
    [[nodiscard]] std::uint32_t read_address() const { return address; }
    void write_address(std::uint32_t value);
    // `port` is data_port to data_port + 3, and the access does not reach past data_port + 3.
    [[nodiscard]] std::uint32_t read_data(std::uint16_t port, unsigned width) const;
    void write_data(std::uint16_t port, unsigned width, std::uint32_t value);

private:
    [[nodiscard]] std::uint32_t index_of(unsigned device, unsigned function) const;
    [[nodiscard]] std::uint32_t addressed() const;
};

static_assert(std::is_trivially_copyable_v<Pci>);

} // namespace previrt
