// SPDX-License-Identifier: BSD-2-Clause
// The PC's part that has to do with its vsock device.
#include "devices/platform/pc.hpp"
#include "devices/virtio/configuration_space.hpp"

namespace previrt {

void Pc::insert_vsock(std::uint64_t guest_cid) {
    constexpr unsigned first_bar = 0x10;
    PciFunction* const function = VirtioVsock::add_function(pci, vsock_device);
    function->set(first_bar + (4 * virtio::io_bar), 4, vsock_ports | 1U);
    configure(*function, channel_irq);
    vsock.start(guest_cid);
    vsock_index = index_of(*function);
    has_vsock = true;
}

std::optional<std::uint32_t> Pc::vsock_register(std::uint16_t port) const {
    return has_vsock ? virtio_register(vsock_function(), port) : std::nullopt;
}

std::optional<std::uint32_t> Pc::read_vsock(std::uint32_t offset, unsigned width) {
    const std::optional<std::uint32_t> value = vsock.read(offset, width);
    update_channel_line();
    return value;
}

bool Pc::write_vsock(std::uint32_t offset, unsigned width, std::uint32_t value) {
    const bool is_modelled = vsock.write(offset, width, value);
    update_channel_line();
    return is_modelled;
}

void Pc::update_channel_line() {
    const bool is_vsock = has_vsock && !vsock_function().disables_interrupt() && vsock.interrupt_line();
    const bool is_console =
        has_console && !console_function().disables_interrupt() && console.interrupt_line();
    set_line(channel_irq, is_vsock || is_console);
}

} // namespace previrt
