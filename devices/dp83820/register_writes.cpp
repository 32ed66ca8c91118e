// SPDX-License-Identifier: BSD-2-Clause
#include "devices/dp83820/dp83820.hpp"

namespace previrt {

using namespace dp83820;

namespace {

constexpr std::uint64_t with_low_half(std::uint64_t whole, std::uint32_t half) {
    return (whole & 0xffff'ffff'0000'0000U) | half;
}

constexpr std::uint64_t with_high_half(std::uint64_t whole, std::uint32_t half) {
    return (whole & 0xffff'ffffU) | (static_cast<std::uint64_t>(half) << 32U);
}

} // namespace

bool Dp83820::write(std::uint32_t offset, std::uint32_t value, std::uint64_t now) {
    ++statistics.register_writes;
    if (offset >= at::first_counter && offset <= at::last_counter && (offset & 3U) == 0) {
        return true; // read-only
    }
    switch (offset) {
    case at::cr:
        write_cr(value, now);
        return true;
    case at::cfg:
        return write_cfg(value);
    case at::mear:
        write_mear(value, now);
        return true;
    case at::ptscr:
        write_ptscr(value);
        return true;
    case at::imr:
        interrupts.write_mask(value, now);
        return true;
    case at::ier:
        interrupts.write_enable(value, now);
        return true;
    case at::ihr:
        interrupts.write_holdoff(value);
        return true;
    case at::txdp:
        write_transmit_pointer(with_low_half(transmit_ring.pointer, value));
        return true;
    case at::txdp_hi:
        write_transmit_pointer(with_high_half(transmit_ring.pointer, value));
        return true;
    case at::rxdp:
        receive_ring.write_pointer(with_low_half(receive_ring.pointer, value));
        return true;
    case at::rxdp_hi:
        receive_ring.write_pointer(with_high_half(receive_ring.pointer, value));
        return true;
    case at::rfcr:
        filter.control = value & rfcr_writable;
        return true;
    case at::rfdr:
        return filter.write_data(value);
    case at::mibc:
        write_mibc(value, now);
        return true;
    case at::isr:
    case at::tbisr:
    case at::tanlpar:
    case at::taner:
        return true; // read-only
    default:
        return write_stored(offset, value);
    }
}

bool Dp83820::write_stored(std::uint32_t offset, std::uint32_t value) {
    const StoredRegister* const found = StoredRegisters::find(offset);
    const bool priority_queues = offset == at::pqcr && value != 0;
    const bool pause_frame = offset == at::pcr && (value & pcr_send) != 0;
    if (found == nullptr || priority_queues || pause_frame) {
        return false;
    }
    stored.write(*found, value);
    return true;
}

// If a command and its opposite are set, the stopping one wins.
void Dp83820::write_cr(std::uint32_t value, std::uint64_t now) {
    if ((value & cr_rst) != 0) {
        reset(now);
        return;
    }
    if ((value & cr_txr) != 0) {
        reset_transmitter(now);
    } else if ((value & cr_txd) != 0) {
        transmit_ring.stop(Engine::off);
    } else if ((value & cr_txe) != 0) {
        transmit_ring.enable();
    }
    if ((value & cr_rxr) != 0) {
        reset_receiver(now);
    } else if ((value & cr_rxd) != 0) {
        receive_ring.stop(Engine::off);
    } else if ((value & cr_rxe) != 0) {
        receive_ring.enable();
    }
    if ((value & cr_swi) != 0) {
        interrupts.raise(isr_swi, now);
    }
}

bool Dp83820::write_cfg(std::uint32_t value) {
    if ((value & cfg_bem) != 0) {
        return false;
    }
    if ((value & cfg_phy_rst) != 0) {
        phy.reset();
    }
    cfg = (value & cfg_writable) | (cfg & cfg_t64addr);
    interrupts.fast_timer = (cfg & cfg_tmrtest) != 0;
    return true;
}

void Dp83820::write_mear(std::uint32_t value, std::uint64_t now) {
    const auto is_set = [value](std::uint32_t bit) { return (value & bit) != 0; };
    mear = value & (mear_eedi | mear_eeclk | mear_eesel | mear_mdio | mear_mddir | mear_mdc);
    eeprom.drive(is_set(mear_eesel), is_set(mear_eeclk), is_set(mear_eedi));
    const std::uint32_t before = link_status();
    mii.drive(is_set(mear_mdc), !is_set(mear_mddir) || is_set(mear_mdio), phy);
    tell_link_changes(before, now);
}

// The tests pass, and take no time.
void Dp83820::write_ptscr(std::uint32_t value) {
    if ((value & ptscr_rbist_rst) != 0) {
        memory_test_done = false;
    }
    if ((value & ptscr_rbist_en) != 0) {
        memory_test_done = true;
    }
    if ((value & ptscr_eeload_en) != 0) {
        load_eeprom();
    }
}

void Dp83820::write_mibc(std::uint32_t value, std::uint64_t now) {
    if (counters.write_control(value)) {
        interrupts.raise(isr_mib, now);
    }
}

void Dp83820::write_transmit_pointer(std::uint64_t value) {
    transmit_ring.write_pointer(value);
    packet = {};
}

} // namespace previrt
