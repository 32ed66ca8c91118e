// SPDX-License-Identifier: BSD-2-Clause
#include "devices/pci/pci.hpp"

namespace previrt {

namespace {

constexpr std::uint32_t enable = 0x8000'0000;
constexpr std::uint32_t implemented = 0x80ff'fffc;

constexpr std::uint32_t all_ones(unsigned width) {
    return width >= 4 ? 0xffff'ffff : (1U << (8U * width)) - 1;
}

} // namespace

std::uint32_t Pci::index_of(unsigned device, unsigned function) const {
    std::uint32_t index = 0;
    while (index < function_count &&
           (functions[index].device_number != device || functions[index].function_number != function)) {
        ++index;
    }
    return index;
}

PciFunction* Pci::find(unsigned device, unsigned function) {
    const std::uint32_t index = index_of(device, function);
    return index < function_count ? &functions[index] : nullptr;
}

PciFunction* Pci::add(unsigned device, unsigned function, const PciIdentity& identity) {
    if (device > 31 || function > 7 || function_count == most_functions ||
        find(device, function) != nullptr) {
        return nullptr;
    }
    PciFunction& added = functions[function_count];
    ++function_count;
    added.device_number = static_cast<std::uint8_t>(device);
    added.function_number = static_cast<std::uint8_t>(function);
    added.identify(identity);
    return &added;
}

bool Pci::add_host_bridge() {
    PciFunction* const bridge =
        add(0, 0, {.vendor = 0x8086, .device = 0x1237, .revision = 2, .class_code = 0x06'0000});
    if (bridge == nullptr) {
        return false;
    }
    // As the 82441FX's data sheet: memory and bus master are always on, medium DEVSEL timing, fast
    // back-to-back.
    bridge->set(0x04, 4, 0x0280'0006);
    bridge->writable = {};
    bridge->writable[0x04] = 0x40; // parity
    bridge->writable[0x05] = 0x01; // SERR#
    bridge->writable[0x0d] = 0xf8; // latency timer
    return true;
}

void Pci::write_address(std::uint32_t value) {
    address = value & implemented;
}

// The index of the addressed function, or function_count.
std::uint32_t Pci::addressed() const {
    const bool bus_0 = ((address >> 16U) & 0xffU) == 0;
    return (address & enable) != 0 && bus_0 ? index_of((address >> 11U) & 31U, (address >> 8U) & 7U)
                                            : function_count;
}

std::uint32_t Pci::read_data(std::uint16_t port, unsigned width) const {
    const std::uint32_t index = addressed();
    return index < function_count ? functions[index].read((address & 0xfcU) | (port & 3U), width)
                                  : all_ones(width);
}

void Pci::write_data(std::uint16_t port, unsigned width, std::uint32_t value) {
    const std::uint32_t index = addressed();
    if (index < function_count) {
        functions[index].write((address & 0xfcU) | (port & 3U), width, value);
    }
}

} // namespace previrt
