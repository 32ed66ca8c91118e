// SPDX-License-Identifier: BSD-2-Clause
#include "devices/nvme/configuration_space.hpp"

namespace previrt::nvme {

namespace {

constexpr PciIdentity identity{.vendor = pci_vendor,
                               .device = 0x4e56,
                               .revision = 1,
                               .class_code = 0x01'0802, // mass storage, non-volatile memory, NVMe
                               .subsystem_vendor = pci_vendor,
                               .subsystem = 1,
                               .interrupt_pin = 1};

} // namespace

PciFunction* add_function(Pci& pci, unsigned device) {
    PciFunction* const function = pci.add(device, 0, identity);
    if (function != nullptr) {
        function->add_bar(memory_bar, PciBar::memory, memory_bar_bytes);
    }
    return function;
}

} // namespace previrt::nvme
