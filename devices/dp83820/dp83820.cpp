// SPDX-License-Identifier: BSD-2-Clause
#include "devices/dp83820/dp83820.hpp"

namespace previrt {

using namespace dp83820;
using namespace ethernet;

void Dp83820::start(const MacAddress& address, Transceiver transceiver) {
    eeprom.fill(address, transceiver);
    phy.reset();
    reset(0);
}

// RST. The link stays: the PHY is another chip.
void Dp83820::reset(std::uint64_t now) {
    stored.reset();
    mear = mear_reset;
    eeprom.drive(false, false, false);
    memory_test_done = false;
    counters.reset();
    filter = {};
    cfg = 0;
    load_eeprom();
    interrupts.fast_timer = false;
    reset_transmitter(now);
    reset_receiver(now);
    interrupts.reset();
}

void Dp83820::load_eeprom() {
    cfg = (cfg & ~cfg_of_eeprom) | eeprom.cfg();
    filter.address = eeprom.address();
}

bool Dp83820::link() const {
    return has_tbi() ? phy.cable : phy.link();
}

bool Dp83820::loops_back() const {
    return (stored[at::txcfg] & txcfg_mlb) != 0 ||
           (has_tbi() ? (stored[at::tbicr] & tbicr_loop) != 0 : phy.loops_back());
}

// CFG, bits 28 to 31.
std::uint32_t Dp83820::link_status() const {
    const std::uint32_t up = link() ? cfg_lnksts : 0;
    if (has_tbi()) {
        return up | cfg_spdsts_1000;
    }
    const Phy::Mode mode = phy.mode();
    const std::uint32_t duplex = mode.full_duplex ? 0 : cfg_dupsts;
    switch (mode.speed) {
    case Phy::Speed::at_1000:
        return up | duplex | cfg_spdsts_1000;
    case Phy::Speed::at_100:
        return up | duplex | cfg_spdsts_100;
    default:
        return up | duplex | cfg_spdsts;
    }
}

void Dp83820::tell_link_changes(std::uint32_t before, std::uint64_t now) {
    const std::uint32_t changed = before ^ link_status();
    const auto told = [&](std::uint32_t what, std::uint32_t enable) {
        return (changed & what) != 0 && (cfg & enable) != 0;
    };
    if (told(cfg_lnksts, cfg_pint_lnksts) || told(cfg_spdsts, cfg_pint_spdsts) ||
        told(cfg_dupsts, cfg_pint_dupsts)) {
        interrupts.raise(isr_phy, now);
    }
}

void Dp83820::set_link(bool up, std::uint64_t now) {
    const std::uint32_t before = link_status();
    phy.set_cable(up);
    tell_link_changes(before, now);
}

void Dp83820::count(Counter counter, std::uint64_t now) {
    if (counters.count(counter)) {
        interrupts.raise(isr_mib, now);
    }
}

} // namespace previrt
