// SPDX-License-Identifier: BSD-2-Clause
// The PC's part that has to do with its memory balloon.
#include "devices/platform/pc.hpp"
#include "devices/virtio/configuration_space.hpp"

namespace previrt {

void Pc::insert_balloon() {
    constexpr unsigned first_bar = 0x10;
    PciFunction* const function = VirtioBalloon::add_function(pci, balloon_device);
    function->set(first_bar + (4 * virtio::io_bar), 4, balloon_ports | 1U);
    configure(*function, balloon_irq);
    balloon.start();
    balloon_index = index_of(*function);
    has_balloon = true;
}

bool Pc::balloon_is_notified() const {
    return has_balloon && balloon.is_notified() && balloon_function().masters_bus();
}

std::optional<std::uint32_t> Pc::balloon_register(std::uint16_t port) const {
    return has_balloon ? virtio_register(balloon_function(), port) : std::nullopt;
}

std::optional<std::uint32_t> Pc::read_balloon(std::uint32_t offset, unsigned width) {
    const std::optional<std::uint32_t> value = balloon.read(offset, width);
    update_balloon_line();
    return value;
}

bool Pc::write_balloon(std::uint32_t offset, unsigned width, std::uint32_t value) {
    const bool is_modelled = balloon.write(offset, width, value);
    update_balloon_line();
    return is_modelled;
}

void Pc::update_balloon_line() {
    set_line(balloon_irq,
             has_balloon && !balloon_function().disables_interrupt() && balloon.interrupt_line());
}

} // namespace previrt
