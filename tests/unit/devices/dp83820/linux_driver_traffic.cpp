// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/devices/dp83820/linux_driver.hpp"

namespace previrt {

using namespace dp83820;

bool LinuxDriver::transmit(const std::vector<Bytes>& fragments, std::uint32_t extsts) {
    const unsigned free = (transmit_slots + transmit_done - 2 - transmit_free) % transmit_slots;
    if (free - 1 < fragments.size()) {
        queue_stopped = true;
        return false;
    }
    const bool interrupts_then = transmit_free == transmit_interrupt;
    if (interrupts_then) {
        transmit_interrupt = (transmit_interrupt + (transmit_slots / 4)) % transmit_slots;
    }
    const unsigned first = transmit_free;
    for (std::size_t i = 0; i < fragments.size(); ++i) {
        const unsigned slot = (first + static_cast<unsigned>(i)) % transmit_slots;
        const std::uint32_t buffer = transmit_buffers + (slot * buffer_stride);
        card.put(buffer, fragments[i]);
        const bool last = i + 1 == fragments.size();
        const std::uint32_t at_end = interrupts_then ? cmdsts_intr : 0;
        const std::uint32_t flags = last ? at_end : cmdsts_more;
        layout.write(card.ram, transmit_at(slot), transmit_at((slot + 1) % transmit_slots), buffer,
                     flags | (i > 0 ? cmdsts_own : 0) | static_cast<std::uint32_t>(fragments[i].size()),
                     extsts);
    }
    card.ram.store(layout.cmdsts_at(transmit_at(first)),
                   layout.cmdsts(card.ram, transmit_at(first)) | cmdsts_own);
    transmit_free = (first + static_cast<unsigned>(fragments.size())) % transmit_slots;
    card.write(at::cr, cr_txe);
    return true;
}

void LinuxDriver::walk_sent() {
    while (transmit_done != transmit_free) {
        const std::uint32_t cmdsts = layout.cmdsts(card.ram, transmit_at(transmit_done));
        if ((cmdsts & cmdsts_own) != 0) {
            break;
        }
        sent_errors += (cmdsts & cmdsts_crc) != 0 ? 1 : 0;
        if ((cmdsts & cmdsts_ok) != 0) {
            ++sent_packets;
            sent_bytes += cmdsts & cmdsts_size;
        }
        card.ram.store(layout.cmdsts_at(transmit_at(transmit_done)), std::uint32_t{0});
        transmit_done = (transmit_done + 1) % transmit_slots;
    }
    queue_stopped = false;
}

void LinuxDriver::walk_received() {
    while (true) {
        const std::uint32_t cmdsts = layout.cmdsts(card.ram, receive_at(next_receive));
        if ((cmdsts & cmdsts_own) == 0 || cmdsts == empty_marker) {
            return;
        }
        const std::uint32_t extsts = layout.extsts(card.ram, receive_at(next_receive));
        const std::uint32_t length = cmdsts & cmdsts_size;
        if ((cmdsts & cmdsts_ok) != 0) {
            received.push_back(card.get(receive_buffers + (next_receive * buffer_stride), length));
            received_tags.push_back(extsts);
        } else {
            ++dropped;
        }
        empty_receive_slot(next_receive);
        next_receive = (next_receive + 1) % receive_slots;
    }
}

void LinuxDriver::tasklet() {
    tasklet_due = false;
    walk_received();
    card.write(at::ihr, 2);
    mask |= isr_rxdesc;
    card.write(at::imr, mask);
    walk_received();
    if (up) {
        refill();
        kick_receiver();
    }
}

void LinuxDriver::interrupt() {
    ++interrupts;
    const std::uint32_t isr = card.read(at::isr);
    if ((isr & isr_rxidle) != 0) {
        receiver_idle = true;
        refill();
        kick_receiver();
    }
    if ((isr & (isr_rxdesc | isr_rxok)) != 0) {
        mask &= ~(isr_rxdesc | isr_rxok);
        card.write(at::imr, mask);
        tasklet_due = true;
    }
    if ((isr & (isr_rxidle | isr_rxorn | isr_rxdesc | isr_rxok | isr_rxerr)) != 0) {
        refill();
        kick_receiver();
    }
    overruns += ((isr & isr_rxsovr) != 0 ? 1 : 0) + ((isr & isr_rxorn) != 0 ? 1 : 0);
    if ((isr & isr_rxrcmp) != 0 && up) {
        card.write(at::cr, cr_rxe);
    }
    if ((isr & isr_txidle) != 0) {
        const unsigned reached = (card.read(at::txdp) - transmit_list) / stride;
        ASSERT_LT(reached, transmit_slots);
        if (reached != transmit_free) {
            card.write(at::cr, cr_txe);
        }
    }
    if ((isr & (isr_txdesc | isr_txidle | isr_txok | isr_txerr)) != 0) {
        walk_sent();
        if (transmit_done == transmit_free && (mask & isr_txok) != 0) {
            mask &= ~isr_txok;
            card.write(at::imr, mask);
        }
    }
    if ((isr & isr_txidle) != 0 && transmit_done != transmit_free) {
        mask |= isr_txok;
        card.write(at::imr, mask);
    }
    if ((isr & isr_mib) != 0) {
        for (std::uint32_t offset = at::first_counter; offset <= at::last_counter; offset += 4) {
            card.read(offset);
        }
    }
    if ((isr & isr_phy) != 0) {
        check_link();
    }
}

} // namespace previrt
