// SPDX-License-Identifier: BSD-2-Clause
// The PC's part that has to do with its disks.
#include "devices/nvme/configuration_space.hpp"
#include "devices/platform/pc.hpp"

namespace previrt {

void Pc::insert_disk(const nvme::Medium& medium) {
    constexpr unsigned first_bar = 0x10;
    PciFunction* const function = nvme::add_function(pci, first_disk_device + disk_count);
    function->set(first_bar + (4 * nvme::memory_bar), 4, disk_memory + (disk_count * nvme::memory_bar_bytes));
    configure(*function, disk_irq);
    disks[disk_count].start(medium);
    disk_indexes[disk_count] = index_of(*function);
    ++disk_count;
}

std::optional<Pc::DiskRegister> Pc::disk_register(std::uint64_t address) const {
    for (std::uint32_t i = 0; i < disk_count; ++i) {
        const std::uint64_t offset = address - disk_function(i).bar_address(nvme::memory_bar);
        if (disk_function(i).decodes_memory() && offset < nvme::memory_bar_bytes) {
            return DiskRegister{.disk = i, .offset = static_cast<std::uint32_t>(offset)};
        }
    }
    return std::nullopt;
}

bool Pc::disk_claims(std::uint64_t address, std::uint64_t bytes) const {
    for (std::uint32_t i = 0; i < disk_count; ++i) {
        if (disk_function(i).decodes_memory() &&
            overlap(address, bytes, disk_function(i).bar_address(nvme::memory_bar), nvme::memory_bar_bytes)) {
            return true;
        }
    }
    return false;
}

void Pc::update_disk_line() {
    bool level = false;
    for (std::uint32_t i = 0; i < disk_count; ++i) {
        level |= !disk_function(i).disables_interrupt() && disks[i].interrupt_line();
    }
    set_line(disk_irq, level);
}

} // namespace previrt
