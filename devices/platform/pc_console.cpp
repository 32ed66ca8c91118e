// SPDX-License-Identifier: BSD-2-Clause
// The PC's part that has to do with its console device.
#include "devices/platform/pc.hpp"
#include "devices/virtio/configuration_space.hpp"

namespace previrt {

void Pc::insert_console() {
    constexpr unsigned first_bar = 0x10;
    PciFunction* const function = VirtioConsole::add_function(pci, console_device);
    function->set(first_bar + (4 * virtio::io_bar), 4, console_ports | 1U);
    configure(*function, channel_irq);
    console.start();
    console_index = index_of(*function);
    has_console = true;
}

std::optional<std::uint32_t> Pc::console_register(std::uint16_t port) const {
    return has_console ? virtio_register(console_function(), port) : std::nullopt;
}

std::optional<std::uint32_t> Pc::read_console(std::uint32_t offset, unsigned width) {
    const std::optional<std::uint32_t> value = console.read(offset, width);
    update_channel_line();
    return value;
}

bool Pc::write_console(std::uint32_t offset, unsigned width, std::uint32_t value) {
    const bool is_modelled = console.write(offset, width, value);
    update_channel_line();
    return is_modelled;
}

} // namespace previrt
