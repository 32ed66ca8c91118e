// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/devices/dp83820/linux_driver.hpp"

namespace previrt {

using namespace dp83820;

void LinuxDriver::reset() {
    card.write(at::cr, cr_rst);
    for (unsigned spins = 0; (card.read(at::cr) & cr_rst) != 0; ++spins) {
        ASSERT_LT(spins, 1000U);
    }
}

void LinuxDriver::self_test(std::uint32_t enable, std::uint32_t done, std::uint32_t failed) {
    card.write(at::ptscr, enable);
    const std::uint32_t status = card.read(at::ptscr);
    EXPECT_TRUE((status & enable) == 0 || (status & done) != 0);
    EXPECT_EQ(status & failed, 0U);
}

void LinuxDriver::probe() {
    card.write(at::imr, 0);
    card.write(at::ier, 0);
    card.read(at::ier);
    card.read(0x22c);
    reset();
    card.write(at::ptscr, ptscr_rbist_rst);
    self_test(ptscr_rbist_en, ptscr_rbist_done, 0x1b8);
    self_test(2, 0, 1);
    self_test(ptscr_eeload_en, 0, 0);

    cfg = card.read(at::cfg) & (cfg_tbi_en | 0x0001'0000U | 0x8000U | cfg_t64addr | 2U | cfg_m64addr);
    cfg |= 0x1e'01b8U | cfg_m64addr | cfg_t64addr;
    if ((cfg & cfg_tbi_en) != 0) {
        card.set(at::gpior, 0x3e8);
        card.set(at::tanar, 0x60);
        card.write(at::tbicr, 0x1200);
        card.write(at::tbicr, 0x1000);
        cfg |= cfg_mode_1000;
    }
    card.write(at::cfg, cfg);
    card.write(at::txcfg, 0xd070'3200);
    card.write(at::ihr, 0);
    card.write(at::ihr, 0x100);
    card.write(at::ihr, 0);
    card.write(at::rxcfg, 0xf470'0000);
    card.write(at::pqcr, 0);
    card.write(at::vrcr, 0x13);
    card.write(at::vtcr, 0x0a);
    card.write(at::pcr, 0xe1e0'fffe);
    card.write(at::wcsr, 0);
    for (std::uint32_t i = 0; i < 6; i += 2) {
        card.write(at::rfcr, i);
        const std::uint32_t data = card.read(at::rfdr);
        address[i] = static_cast<std::uint8_t>(data);
        address[i + 1] = static_cast<std::uint8_t>(data >> 8U);
    }
    card.read(at::srr);
}

void LinuxDriver::empty_receive_slot(unsigned index) {
    layout.write(card.ram, receive_at(index), 0, 0, empty_marker);
}

unsigned LinuxDriver::free_receive_slots() const {
    return (receive_slots - 2 + next_receive - next_empty) % receive_slots;
}

void LinuxDriver::refill() {
    while (free_receive_slots() > 2) {
        const unsigned slot = next_empty;
        next_empty = (next_empty + 1) % receive_slots;
        layout.write(card.ram, receive_at(slot), 0, receive_buffers + (slot * buffer_stride),
                     buffer_bytes | cmdsts_intr);
        if (slot != next_receive) {
            const unsigned before = (slot + receive_slots - 1) % receive_slots;
            card.ram.store(receive_at(before), receive_at(slot)); // the low half of its link
        }
    }
}

void LinuxDriver::kick_receiver() {
    if (receiver_idle) {
        receiver_idle = false;
        card.write(at::rxdp, receive_at(next_receive));
        card.write(at::cr, cr_rxe);
    }
}

void LinuxDriver::open() {
    card.write(at::pqcr, 0);
    receiver_idle = true;
    next_receive = next_empty = 0;
    for (unsigned i = 0; i < receive_slots; ++i) {
        empty_receive_slot(i);
    }
    card.write(at::rxdp_hi, 0);
    card.write(at::rxdp, receive_at(0));
    refill();
    card.write(at::ccsr, 1);
    card.write(at::rfcr, 0);
    card.write(at::rfcr, 0x7fc0'0000);
    card.write(at::rfcr, 0xffc0'0000);
    up = true;
    check_link();
    mask |= 0x21'42b2;
    card.write(at::imr, mask);
    card.write(at::ier, 1);
    kick_receiver();

    for (unsigned i = 0; i < transmit_slots; ++i) {
        layout.write(card.ram, transmit_at(i), transmit_at((i + 1) % transmit_slots), 0, 0);
    }
    transmit_done = 0;
    card.write(at::txdp_hi, 0);
    card.write(at::txdp, transmit_at(0));
    set_multicast();
}

void LinuxDriver::set_multicast() {
    const std::uint32_t value = (card.read(at::rfcr) & ~rfcr_aau) | rfcr_aam;
    card.write(at::rfcr, value & ~rfcr_rfen);
    card.write(at::rfcr, value);
}

void LinuxDriver::check_link() {
    const std::uint32_t status = card.read(at::cfg);
    const bool now_up = (status & cfg_lnksts) != 0;
    if ((cfg & cfg_tbi_en) != 0) {
        card.read(at::tbisr);
        if ((card.read(at::tanar) & card.read(at::tanlpar) & 0x20U) != 0) {
            card.set(at::txcfg, 0xd000'0000);
            card.set(at::rxcfg, 0x1000'0000);
            card.set(at::gpior, 1);
        }
    } else {
        const bool full = (status & cfg_dupsts) == 0;
        const std::uint32_t speed = status & cfg_spdsts;
        const std::uint32_t wanted = (cfg & ~(0x40U | cfg_mode_1000)) | (full ? 0x40U : 0) |
                                     (speed == cfg_spdsts_1000 ? cfg_mode_1000 : 0);
        card.set(at::txcfg, 0xc000'0000);
        card.set(at::rxcfg, 0x1000'0000);
        if (now_up && wanted != cfg) {
            card.write(at::cfg, wanted);
            cfg = wanted;
        }
    }
    carrier = now_up;
}

bool LinuxDriver::settle() {
    for (unsigned rounds = 0; rounds < 10'000; ++rounds) {
        for (Bytes& frame : card.sent()) {
            sent.push_back(std::move(frame));
        }
        card.serve_receiver();
        if (card.line()) {
            interrupt();
        } else if (tasklet_due) {
            tasklet();
        } else if (const std::optional<std::uint64_t> next = card.nic.next_event(card.now)) {
            card.now = *next;
        } else if (!card.nic.transmit_requested() && !card.nic.receive_requested()) {
            return true;
        }
    }
    return false;
}

void LinuxDriver::close() {
    card.write(at::imr, 0);
    card.write(at::ier, 0);
    card.read(at::ier);
    up = false;
    reset();
    mask &= ~(isr_txurn | isr_txidle | isr_txerr | isr_txdesc | isr_txok);
    mask &= ~(isr_rxok | isr_rxdesc | isr_rxerr | 8U | isr_rxidle);
    card.write(at::imr, mask);
    card.read(at::imr);
    card.write(at::rxdp_hi, 0);
    card.write(at::rxdp, 0);
}

} // namespace previrt
