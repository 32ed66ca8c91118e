// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

namespace previrt {

// The identity of a PCI function.
struct PciIdentity {
    std::uint16_t vendor;
    std::uint16_t device;
    std::uint8_t revision;
    std::uint32_t class_code; // 24 bits: base class, sub-class, interface
    std::uint16_t subsystem_vendor = 0;
    std::uint16_t subsystem = 0;
    std::uint8_t interrupt_pin = 0; // 1 is INTA#, 0 none
};

enum class PciBar : std::uint8_t { memory, io };

// One function's configuration space, header type 0.
struct PciFunction {
    std::uint8_t device_number = 0;
    std::uint8_t function_number = 0;
    std::array<std::uint8_t, 256> bytes{};
    std::array<std::uint8_t, 256> writable{};  // bits that a write changes
    std::array<std::uint8_t, 256> clearable{}; // bits that writing 1 clears

    // Clears everything and fills in the header. The command register's bits for I/O, memory, bus master,
    // parity, SERR# and INTx become writable.
    void identify(const PciIdentity& identity);

    // Base address register 0 to 5, not yet assigned. `size` is a power of two, at least 16 (memory) or 4
    // (I/O); false if it is not.
    bool add_bar(unsigned index, PciBar kind, std::uint32_t size);
    // The address that the guest gave it, without the type bits.
    [[nodiscard]] std::uint32_t bar_address(unsigned index) const;
    [[nodiscard]] bool decodes_io() const { return (bytes[4] & 1U) != 0; }
    [[nodiscard]] bool decodes_memory() const { return (bytes[4] & 2U) != 0; }
    [[nodiscard]] bool masters_bus() const { return (bytes[4] & 4U) != 0; }
    [[nodiscard]] bool disables_interrupt() const { return (bytes[5] & 4U) != 0; }

    // `offset` is taken modulo 256, byte by byte. `width` is 1, 2 or 4 bytes.
    [[nodiscard]] std::uint32_t read(unsigned offset, unsigned width) const;
    // The guest's writes, through the masks.
    void write(unsigned offset, unsigned width, std::uint32_t value);
    // Writes of the device or firmware, past the masks.
    void set(unsigned offset, unsigned width, std::uint32_t value);
};

static_assert(std::is_trivially_copyable_v<PciFunction>);

} // namespace previrt
