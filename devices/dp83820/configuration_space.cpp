// SPDX-License-Identifier: BSD-2-Clause
#include "devices/dp83820/configuration_space.hpp"

namespace previrt::dp83820 {

namespace {

constexpr PciIdentity identity{.vendor = 0x100b,
                               .device = 0x0022,
                               .revision = 0,
                               .class_code = 0x02'0000,
                               .subsystem_vendor = 0x100b,
                               .subsystem = 0xf022,
                               .interrupt_pin = 1};

constexpr unsigned status = 0x06;
constexpr std::uint16_t status_value = 0x02a0; // 66 MHz, fast back-to-back, medium DEVSEL timing
constexpr unsigned least_grant = 0x3e;
constexpr unsigned most_latency = 0x3f;

} // namespace

PciFunction* add_function(Pci& pci, unsigned device) {
    PciFunction* const function = pci.add(device, 0, identity);
    if (function != nullptr) {
        function->set(status, 2, status_value);
        function->set(least_grant, 1, 0x0b);
        function->set(most_latency, 1, 0x34);
        function->add_bar(io_bar, PciBar::io, io_bar_bytes);
        function->add_bar(memory_bar, PciBar::memory, memory_bar_bytes);
    }
    return function;
}

} // namespace previrt::dp83820
