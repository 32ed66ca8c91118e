// SPDX-License-Identifier: BSD-2-Clause
#include "devices/pci/pci_function.hpp"

namespace previrt {

namespace {

constexpr unsigned vendor_id = 0x00;
constexpr unsigned device_id = 0x02;
constexpr unsigned command = 0x04;
constexpr unsigned revision_id = 0x08;
constexpr unsigned class_code = 0x09;
constexpr unsigned cache_line_size = 0x0c;
constexpr unsigned latency_timer = 0x0d;
constexpr unsigned first_bar = 0x10;
constexpr unsigned bars = 6;
constexpr unsigned subsystem_vendor_id = 0x2c;
constexpr unsigned subsystem_id = 0x2e;
constexpr unsigned interrupt_line = 0x3c;
constexpr unsigned interrupt_pin = 0x3d;

constexpr std::uint16_t writable_command = 0x0547; // I/O, memory, master, parity, SERR#, INTx disable
constexpr std::uint32_t io_indicator = 1;

void store(std::array<std::uint8_t, 256>& bytes, unsigned offset, unsigned width, std::uint32_t value) {
    for (unsigned i = 0; i < width; ++i) {
        bytes[(offset + i) & 0xffU] = static_cast<std::uint8_t>(value >> (8U * i));
    }
}

} // namespace

void PciFunction::identify(const PciIdentity& identity) {
    bytes = {};
    writable = {};
    clearable = {};
    set(vendor_id, 2, identity.vendor);
    set(device_id, 2, identity.device);
    set(revision_id, 1, identity.revision);
    set(class_code, 3, identity.class_code);
    set(subsystem_vendor_id, 2, identity.subsystem_vendor);
    set(subsystem_id, 2, identity.subsystem);
    set(interrupt_pin, 1, identity.interrupt_pin);
    store(writable, command, 2, writable_command);
    store(writable, cache_line_size, 1, 0xff);
    store(writable, latency_timer, 1, 0xff);
    store(writable, interrupt_line, 1, 0xff);
}

bool PciFunction::add_bar(unsigned index, PciBar kind, std::uint32_t size) {
    const std::uint32_t least = kind == PciBar::io ? 4 : 16;
    if (index >= bars || size < least || (size & (size - 1)) != 0) {
        return false;
    }
    set(first_bar + (4 * index), 4, kind == PciBar::io ? io_indicator : 0);
    store(writable, first_bar + (4 * index), 4, ~(size - 1));
    return true;
}

std::uint32_t PciFunction::bar_address(unsigned index) const {
    if (index >= bars) {
        return 0;
    }
    const std::uint32_t bar = read(first_bar + (4 * index), 4);
    return (bar & io_indicator) != 0 ? bar & ~3U : bar & ~15U;
}

std::uint32_t PciFunction::read(unsigned offset, unsigned width) const {
    std::uint32_t value = 0;
    for (unsigned i = 0; i < width; ++i) {
        value |= static_cast<std::uint32_t>(bytes[(offset + i) & 0xffU]) << (8U * i);
    }
    return value;
}

void PciFunction::write(unsigned offset, unsigned width, std::uint32_t value) {
    for (unsigned i = 0; i < width; ++i) {
        const unsigned at = (offset + i) & 0xffU;
        const std::uint32_t written = value >> (8U * i);
        const std::uint32_t kept = bytes[at] & ~writable[at] & ~(written & clearable[at]);
        bytes[at] = static_cast<std::uint8_t>(kept | (written & writable[at]));
    }
}

void PciFunction::set(unsigned offset, unsigned width, std::uint32_t value) {
    store(bytes, offset, width, value);
}

} // namespace previrt
