// SPDX-License-Identifier: BSD-2-Clause
#include "devices/pic8259/pic_pair.hpp"

namespace previrt {

namespace {

constexpr unsigned cascade_level = 2;
constexpr std::uint16_t elcr_1 = 0x4d0;
constexpr std::uint16_t elcr_2 = 0x4d1;
// IRQ0, 1, 2, 8 and 13 are always edge triggered.
constexpr std::uint8_t elcr_1_writable = 0xf8;
constexpr std::uint8_t elcr_2_writable = 0xde;

constexpr std::uint8_t floating_bus = 0xff;

constexpr bool is_slave_port(std::uint16_t port) {
    return (port & 0x80U) != 0;
}

constexpr bool is_a0(std::uint16_t port) {
    return (port & 1U) != 0;
}

} // namespace

void PicPair::update_cascade() {
    master.set_line(cascade_level, slave.highest_request().has_value());
}

// INT falls with every INTA, so that a remaining request makes a new edge.
void PicPair::restart_cascade() {
    master.set_line(cascade_level, false);
    update_cascade();
}

std::uint8_t PicPair::read(std::uint16_t port) {
    if (port == elcr_1) {
        return master.elcr;
    }
    if (port == elcr_2) {
        return slave.elcr;
    }
    if (!is_slave_port(port)) {
        return master.read(is_a0(port));
    }
    const bool polled = slave.poll;
    const std::uint8_t value = slave.read(is_a0(port));
    if (polled) {
        restart_cascade();
    }
    return value;
}

void PicPair::write(std::uint16_t port, std::uint8_t value) {
    if (port == elcr_1) {
        master.write_elcr(value & elcr_1_writable);
    } else if (port == elcr_2) {
        slave.write_elcr(value & elcr_2_writable);
    } else {
        (is_slave_port(port) ? slave : master).write(is_a0(port), value);
    }
    update_cascade();
}

void PicPair::set_line(unsigned irq, bool asserted) {
    if (irq < 8 && irq != cascade_level) {
        master.set_line(irq, asserted);
    } else if (irq >= 8 && irq < 16) {
        slave.set_line(irq - 8, asserted);
        update_cascade();
    }
}

std::uint8_t PicPair::acknowledge() {
    const unsigned level = master.acknowledge();
    const bool from_slave = (master.icw3 & (1U << level)) != 0;
    if (!from_slave) {
        return master.vector(level);
    }
    if (level != cascade_level || (slave.icw3 & 7U) != level) {
        return floating_bus; // no chip is addressed
    }
    const std::uint8_t vector = slave.vector(slave.acknowledge());
    restart_cascade();
    return vector;
}

bool PicPair::pending(unsigned irq) const {
    return irq < 16 && ((irq < 8 ? master : slave).irr & (1U << (irq & 7U))) != 0;
}

bool PicPair::enabled(unsigned irq) const {
    const auto passes = [](const Pic8259& chip, unsigned level) { return (chip.imr & (1U << level)) == 0; };
    if (irq < 8) {
        return passes(master, irq);
    }
    return irq < 16 && passes(slave, irq - 8) && passes(master, cascade_level);
}

} // namespace previrt
