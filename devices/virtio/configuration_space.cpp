// SPDX-License-Identifier: BSD-2-Clause
#include "devices/virtio/configuration_space.hpp"

#include "devices/virtio/transport.hpp"

namespace previrt::virtio {

namespace {

constexpr std::uint16_t vendor = 0x1af4;
constexpr std::uint16_t first_device = 0x1040;
constexpr std::uint16_t least_subsystem = 0x40;
constexpr std::uint32_t class_of_none = 0xff'0000;

constexpr unsigned status = 0x06;
constexpr std::uint16_t status_value = 0x10; // there are capabilities
constexpr unsigned capabilities = 0x34;

constexpr std::uint8_t vendor_specific = 0x09;

enum class Structure : std::uint8_t { common = 1, notify = 2, interrupt_status = 3, device = 4 };

struct Place {
    Structure structure;
    std::uint32_t offset; // in the BAR
    std::uint32_t bytes;
};

// The one for notification has a multiplier of 0 behind it: all queues share the register.
constexpr unsigned bytes_of(Structure structure) {
    return structure == Structure::notify ? 20 : 16;
}

unsigned add_capability(PciFunction& function, unsigned at, const Place& place, bool is_last) {
    const unsigned next = at + bytes_of(place.structure);
    function.set(at, 1, vendor_specific);
    function.set(at + 1, 1, is_last ? 0 : next);
    function.set(at + 2, 1, bytes_of(place.structure));
    function.set(at + 3, 1, static_cast<std::uint8_t>(place.structure));
    function.set(at + 4, 1, io_bar);
    function.set(at + 8, 4, place.offset);
    function.set(at + 12, 4, place.bytes);
    return next;
}

} // namespace

PciFunction* add_function(Pci& pci, unsigned device, Kind kind, std::uint32_t configuration_bytes) {
    PciFunction* const function =
        pci.add(device, 0,
                {.vendor = vendor,
                 .device = static_cast<std::uint16_t>(first_device + static_cast<unsigned>(kind)),
                 .revision = 1,
                 .class_code = class_of_none,
                 .subsystem_vendor = vendor,
                 .subsystem = least_subsystem,
                 .interrupt_pin = 1});
    if (function == nullptr) {
        return nullptr;
    }
    function->add_bar(io_bar, PciBar::io, io_bar_bytes);
    function->set(status, 2, status_value);
    constexpr unsigned first = 0x40;
    function->set(capabilities, 1, first);
    unsigned at = first;
    at = add_capability(*function, at, {Structure::common, 0, Transport::common_bytes}, false);
    at = add_capability(*function, at, {Structure::interrupt_status, Transport::interrupt_status_offset, 1},
                        false);
    at = add_capability(*function, at, {Structure::notify, Transport::notify_offset, 4}, false);
    add_capability(*function, at, {Structure::device, Transport::configuration_offset, configuration_bytes},
                   true);
    return function;
}

} // namespace previrt::virtio
