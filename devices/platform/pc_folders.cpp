// SPDX-License-Identifier: BSD-2-Clause
// The PC's part that has to do with its folders.
#include "devices/platform/pc.hpp"
#include "devices/virtio/configuration_space.hpp"

namespace previrt {

void Pc::insert_folder(std::string_view tag) {
    constexpr unsigned first_bar = 0x10;
    PciFunction* const function = VirtioFs::add_function(pci, first_folder_device + folder_count);
    const std::uint32_t ports = folder_ports + (folder_count * virtio::io_bar_bytes);
    function->set(first_bar + (4 * virtio::io_bar), 4, ports | 1U);
    configure(*function, folder_irq);
    folders[folder_count].start(tag);
    folder_indexes[folder_count] = index_of(*function);
    ++folder_count;
}

std::optional<Pc::FolderRegister> Pc::folder_register(std::uint16_t port) const {
    for (std::uint32_t i = 0; i < folder_count; ++i) {
        if (const std::optional<std::uint32_t> offset = virtio_register(folder_function(i), port)) {
            return FolderRegister{.folder = i, .offset = *offset};
        }
    }
    return std::nullopt;
}

std::optional<std::uint32_t> Pc::read_folder(const FolderRegister& place, unsigned width) {
    const std::optional<std::uint32_t> value = folders[place.folder].read(place.offset, width);
    update_folder_line();
    return value;
}

bool Pc::write_folder(const FolderRegister& place, unsigned width, std::uint32_t value) {
    const bool is_modelled = folders[place.folder].write(place.offset, width, value);
    update_folder_line();
    return is_modelled;
}

void Pc::update_folder_line() {
    bool level = false;
    for (std::uint32_t i = 0; i < folder_count; ++i) {
        level |= !folder_function(i).disables_interrupt() && folders[i].interrupt_line();
    }
    set_line(folder_irq, level);
}

} // namespace previrt
