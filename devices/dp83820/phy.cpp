// SPDX-License-Identifier: BSD-2-Clause
#include "devices/dp83820/phy.hpp"

namespace previrt::dp83820 {

namespace {

enum Index : std::uint8_t {
    bmcr_index = 0,
    bmsr_index = 1,
    anar_index = 4,
    anlpar_index = 5,
    aner_index = 6,
    gtcr_index = 9,
    gtsr_index = 10,
    extsr_index = 15,
};

constexpr std::uint16_t bmcr_reset = 0x8000;
constexpr std::uint16_t bmcr_loopback = 0x4000;
constexpr std::uint16_t bmcr_speed_low = 0x2000;
constexpr std::uint16_t bmcr_negotiate = 0x1000;
constexpr std::uint16_t bmcr_power_down = 0x0800;
constexpr std::uint16_t bmcr_full_duplex = 0x0100;
constexpr std::uint16_t bmcr_speed_high = 0x0040;
constexpr std::uint16_t bmcr_default = bmcr_negotiate | bmcr_full_duplex | bmcr_speed_high;
constexpr std::uint16_t bmcr_kept =
    0x7dc0; // without the self-clearing bits: the reset, and 0x0200, which restarts negotiation

// 100BASE-TX and 10BASE-T both ways, EXTSR, no preamble needed, negotiates, more registers
constexpr std::uint16_t bmsr_abilities = 0x7949;
constexpr std::uint16_t bmsr_negotiated = 0x0020;
constexpr std::uint16_t bmsr_link = 0x0004;

constexpr std::uint16_t an_100_full = 0x0100;
constexpr std::uint16_t an_100_half = 0x0080;
constexpr std::uint16_t an_10_full = 0x0040;
constexpr std::uint16_t an_10_half = 0x0020;
constexpr std::uint16_t anar_default = 0x01e1;
constexpr std::uint16_t anar_writable = 0x2fff;
constexpr std::uint16_t anlpar_partner = 0x41e1;
constexpr std::uint16_t aner_partner_negotiates = 0x0001;

constexpr std::uint16_t gtcr_1000_full = 0x0200;
constexpr std::uint16_t gtcr_1000_half = 0x0100;
constexpr std::uint16_t gtcr_default = gtcr_1000_full | gtcr_1000_half;
constexpr std::uint16_t gtcr_writable = 0xff00;
constexpr std::uint16_t gtsr_partner = 0x3c00; // both receivers work; 1000BASE-T both ways
constexpr std::uint16_t extsr_abilities = 0x3000;

} // namespace

void Phy::reset() {
    bmcr = bmcr_default;
    anar = anar_default;
    gtcr = gtcr_default;
    note_link();
}

void Phy::note_link() {
    link_failed = link_failed || !link();
}

void Phy::set_cable(bool connected) {
    cable = connected;
    note_link();
}

bool Phy::negotiates() const {
    return (bmcr & bmcr_negotiate) != 0;
}

bool Phy::loops_back() const {
    return (bmcr & bmcr_loopback) != 0;
}

Phy::Mode Phy::mode() const {
    if ((bmcr & bmcr_power_down) != 0) {
        return {Speed::none, false};
    }
    if (!negotiates()) {
        const bool full = (bmcr & bmcr_full_duplex) != 0;
        if ((bmcr & bmcr_speed_high) != 0) {
            return {Speed::at_1000, full};
        }
        return {(bmcr & bmcr_speed_low) != 0 ? Speed::at_100 : Speed::at_10, full};
    }
    if ((gtcr & (gtcr_1000_full | gtcr_1000_half)) != 0) {
        return {Speed::at_1000, (gtcr & gtcr_1000_full) != 0};
    }
    if ((anar & (an_100_full | an_100_half)) != 0) {
        return {Speed::at_100, (anar & an_100_full) != 0};
    }
    if ((anar & (an_10_full | an_10_half)) != 0) {
        return {Speed::at_10, (anar & an_10_full) != 0};
    }
    return {Speed::none, false};
}

std::uint16_t Phy::read_status() {
    const bool up = link() && !link_failed;
    link_failed = !link();
    return static_cast<std::uint16_t>(bmsr_abilities | (up ? bmsr_link : 0) |
                                      (negotiates() && link() ? bmsr_negotiated : 0));
}

std::uint16_t Phy::read(std::uint8_t index) {
    const bool negotiated = negotiates() && link();
    switch (index) {
    case bmcr_index:
        return bmcr;
    case bmsr_index:
        return read_status();
    case anar_index:
        return anar;
    case anlpar_index:
        return negotiated ? anlpar_partner : 0;
    case aner_index:
        return negotiated ? aner_partner_negotiates : 0;
    case gtcr_index:
        return gtcr;
    case gtsr_index:
        return negotiated ? gtsr_partner : 0;
    case extsr_index:
        return extsr_abilities;
    default:
        return 0;
    }
}

void Phy::write(std::uint8_t index, std::uint16_t value) {
    switch (index) {
    case bmcr_index:
        if ((value & bmcr_reset) != 0) {
            reset();
        } else {
            bmcr = value & bmcr_kept;
        }
        break;
    case anar_index:
        anar = value & anar_writable;
        break;
    case gtcr_index:
        gtcr = value & gtcr_writable;
        break;
    default:
        break;
    }
    note_link();
}

} // namespace previrt::dp83820
