// SPDX-License-Identifier: BSD-2-Clause
#include "devices/dp83820/dp83820.hpp"

namespace previrt {

using namespace dp83820;

namespace {

constexpr std::uint32_t low_half(std::uint64_t value) {
    return static_cast<std::uint32_t>(value);
}

constexpr std::uint32_t high_half(std::uint64_t value) {
    return static_cast<std::uint32_t>(value >> 32U);
}

// GPIOR: an output pin reads as it is driven, other pins as 0.
constexpr std::uint32_t with_pins(std::uint32_t gpior) {
    const std::uint32_t outputs = gpior & (gpior >> 5U) & 0x1fU;
    return gpior | (outputs << 10U);
}

} // namespace

std::optional<std::uint32_t> Dp83820::read(std::uint32_t offset, const PciFunction& function,
                                           std::uint64_t now) {
    ++statistics.register_reads;
    if ((offset & 3U) != 0) {
        return std::nullopt;
    }
    if (offset >= at::configuration_space && offset < at::configuration_space_end) {
        return function.read(offset - at::configuration_space, 4);
    }
    if (offset >= at::first_counter && offset <= at::last_counter) {
        return counters.read(offset);
    }
    switch (offset) {
    case at::cr:
        return read_cr();
    case at::cfg:
        return cfg | link_status();
    case at::mear:
        return read_mear();
    case at::ptscr:
        return memory_test_done ? ptscr_rbist_done : 0;
    case at::isr:
        return interrupts.read_status(now);
    case at::imr:
        return interrupts.mask;
    case at::ier:
        return interrupts.enabled ? 1 : 0;
    case at::ihr:
        return interrupts.holdoff;
    case at::txdp:
        return low_half(transmit_ring.pointer);
    case at::txdp_hi:
        return high_half(transmit_ring.pointer);
    case at::rxdp:
        return low_half(receive_ring.pointer);
    case at::rxdp_hi:
        return high_half(receive_ring.pointer);
    case at::rfcr:
        return filter.control;
    case at::rfdr:
        return filter.read_data();
    case at::mibc:
        return counters.read_control();
    case at::tbisr:
    case at::tanlpar:
    case at::taner:
        return read_tbi(offset);
    default:
        return read_stored(offset);
    }
}

std::optional<std::uint32_t> Dp83820::read_stored(std::uint32_t offset) const {
    if (StoredRegisters::find(offset) == nullptr) {
        return std::nullopt;
    }
    return offset == at::gpior ? with_pins(stored[offset]) : stored[offset];
}

std::uint32_t Dp83820::read_cr() const {
    return (transmit_ring.engine == Engine::active ? cr_txe : 0) |
           (receive_ring.engine == Engine::active ? cr_rxe : 0);
}

std::uint32_t Dp83820::read_mear() const {
    const bool driven = (mear & mear_mddir) != 0;
    const bool mdio = driven ? (mear & mear_mdio) != 0 : mii.output;
    return (mear & ~(mear_eedo | mear_mdio)) | (eeprom.output ? mear_eedo : 0) | (mdio ? mear_mdio : 0);
}

// The result of the ten-bit interface's autonegotiation: the partner supports everything that the guest does.
std::uint32_t Dp83820::read_tbi(std::uint32_t offset) const {
    const bool up = has_tbi() && link();
    const bool negotiated = up && (stored[at::tbicr] & tbicr_an_en) != 0;
    switch (offset) {
    case at::tbisr:
        return (up ? tbisr_link : 0) | (negotiated ? tbisr_an_done : 0);
    case at::tanlpar:
        return negotiated ? stored[at::tanar] : 0;
    default:
        return negotiated ? taner_pr : 0;
    }
}

} // namespace previrt
