// SPDX-License-Identifier: BSD-2-Clause
#include "devices/uart16550/uart16550.hpp"

#include <array>

namespace previrt {

namespace {

enum Ier : std::uint8_t { received_data = 1, transmitter = 2, line_status = 4, modem = 8 };

enum Iir : std::uint8_t {
    iir_modem_status = 0x00,
    iir_none = 0x01,
    iir_transmitter_empty = 0x02,
    iir_received_data = 0x04,
    iir_line_status = 0x06,
    iir_character_timeout = 0x0c,
    iir_fifos_enabled = 0xc0,
};

enum Fcr : std::uint8_t { fcr_enable = 0x01, fcr_clear_receiver = 0x02, fcr_kept = 0xc9 };

enum Lcr : std::uint8_t { lcr_break = 0x40 };

enum Lsr : std::uint8_t {
    lsr_data_ready = 0x01,
    lsr_overrun = 0x02,
    lsr_parity = 0x04,
    lsr_framing = 0x08,
    lsr_break = 0x10,
    lsr_holding_register_empty = 0x20,
    lsr_transmitter_empty = 0x40,
    lsr_error_in_fifo = 0x80,
};
constexpr std::uint8_t lsr_of_character = lsr_parity | lsr_framing | lsr_break;

enum Mcr : std::uint8_t { dtr = 0x01, rts = 0x02, out1 = 0x04, out2 = 0x08, loop = 0x10, mcr_kept = 0x1f };

enum Msr : std::uint8_t { cts = 0x10, dsr = 0x20, ring = 0x40, dcd = 0x80 };
constexpr std::uint8_t trailing_edge_of_ring = 0x04;
constexpr std::uint8_t changes_of_the_others = 0x0b;

} // namespace

std::uint8_t Uart16550::read(std::uint16_t port) {
    switch (port & 7U) {
    case 0:
        return divisor_latch() ? dll : read_data();
    case 1:
        return divisor_latch() ? dlm : ier;
    case 2:
        return read_iir();
    case 3:
        return lcr;
    case 4:
        return mcr;
    case 5:
        return read_lsr();
    case 6:
        return read_msr();
    default:
        return scr;
    }
}

void Uart16550::write(std::uint16_t port, std::uint8_t value) {
    switch (port & 7U) {
    case 0:
        if (divisor_latch()) {
            dll = value;
        } else {
            write_data(value);
        }
        break;
    case 1:
        if (divisor_latch()) {
            dlm = value;
        } else {
            write_ier(value);
        }
        break;
    case 2:
        write_fcr(value);
        break;
    case 3:
        write_lcr(value);
        break;
    case 4:
        write_mcr(value);
        break;
    case 7:
        scr = value;
        break;
    default: // LSR and MSR are read-only
        break;
    }
}

bool Uart16550::can_receive() const {
    return !loopback() && (fifo_enabled() ? !received.full() : received.empty());
}

bool Uart16550::receive(std::uint8_t data) {
    return !loopback() && accept({data, 0});
}

bool Uart16550::receive_break() {
    return !loopback() && accept({0, lsr_break});
}

bool Uart16550::accept(Character character) {
    character.data &= word_mask();
    const bool overrun = fifo_enabled() ? received.full() : !received.empty();
    if (overrun) {
        line_errors |= lsr_overrun;
        if (fifo_enabled()) {
            return false;
        }
        received.clear(); // without a FIFO the older character is lost
    }
    received.push(character);
    reveal_errors();
    return !overrun;
}

// LSR shows the errors of a character when it is the next to be read.
void Uart16550::reveal_errors() {
    if (!received.empty()) {
        line_errors |= received.at(0).errors;
        received.at(0).errors = 0;
    }
}

std::optional<std::uint8_t> Uart16550::take_transmitted() {
    if (transmitted.empty()) {
        return std::nullopt;
    }
    const bool was_empty = transmitter_empty();
    const std::uint8_t data = transmitted.pop();
    transmitter_interrupt = transmitter_interrupt || (!was_empty && transmitter_empty());
    return data;
}

// A guest that sees THRE fills the whole FIFO without checking again.
bool Uart16550::transmitter_empty() const {
    return transmitted.free() >= (fifo_enabled() ? fifo_size : 1);
}

std::uint8_t Uart16550::word_mask() const {
    return static_cast<std::uint8_t>(0xffU >> (3U - (lcr & 3U)));
}

std::uint32_t Uart16550::trigger_level() const {
    constexpr std::array<std::uint32_t, 4> levels{1, 4, 8, 14};
    return fifo_enabled() ? levels[fcr >> 6U] : 1;
}

std::uint8_t Uart16550::read_data() {
    if (received.empty()) {
        return 0;
    }
    const Character character = received.pop();
    reveal_errors();
    return character.data;
}

void Uart16550::write_data(std::uint8_t value) {
    value &= word_mask();
    if (loopback()) {
        accept({value, 0});
    } else if (!transmitted.full()) {
        transmitted.push(value);
    }
    transmitter_interrupt = transmitter_empty();
}

void Uart16550::write_ier(std::uint8_t value) {
    const bool newly_enabled = (value & transmitter) != 0 && (ier & transmitter) == 0;
    transmitter_interrupt = transmitter_interrupt || (newly_enabled && transmitter_empty());
    ier = value & 0x0fU;
}

void Uart16550::write_fcr(std::uint8_t value) {
    const bool switched = ((value ^ fcr) & fcr_enable) != 0;
    if (switched || (value & fcr_clear_receiver) != 0) {
        received.clear();
    }
    const bool programs = (value & fcr_enable) != 0; // otherwise the other bits are ignored
    fcr = programs ? value & fcr_kept : 0;
}

void Uart16550::write_lcr(std::uint8_t value) {
    const bool breaks = (value & lcr_break) != 0 && (lcr & lcr_break) == 0;
    lcr = value;
    if (breaks && loopback()) {
        accept({0, lsr_break});
    }
}

void Uart16550::write_mcr(std::uint8_t value) {
    const std::uint8_t before = modem_status();
    mcr = value & mcr_kept;
    const std::uint8_t after = modem_status();
    modem_changes |= static_cast<std::uint8_t>((before ^ after) >> 4U) & changes_of_the_others;
    if ((before & ring) != 0 && (after & ring) == 0) {
        modem_changes |= trailing_edge_of_ring;
    }
}

// MSR bits 4 to 7.
std::uint8_t Uart16550::modem_status() const {
    if (!loopback()) {
        return cts | dsr | dcd;
    }
    return static_cast<std::uint8_t>(((mcr & rts) != 0 ? cts : 0) | ((mcr & dtr) != 0 ? dsr : 0) |
                                     ((mcr & out1) != 0 ? ring : 0) | ((mcr & out2) != 0 ? dcd : 0));
}

std::uint8_t Uart16550::read_msr() {
    const std::uint8_t changes = modem_changes;
    modem_changes = 0;
    return modem_status() | changes;
}

std::uint8_t Uart16550::read_lsr() {
    std::uint8_t in_fifo = line_errors;
    for (std::uint32_t i = 0; i < received.count; ++i) {
        in_fifo |= received.at(i).errors;
    }
    std::uint8_t status = line_errors;
    if (!received.empty()) {
        status |= lsr_data_ready;
    }
    if (transmitter_empty()) {
        status |= lsr_holding_register_empty | lsr_transmitter_empty;
    }
    if (fifo_enabled() && (in_fifo & lsr_of_character) != 0) {
        status |= lsr_error_in_fifo;
    }
    line_errors = 0;
    return status;
}

std::uint8_t Uart16550::identify_interrupt() const {
    if ((ier & line_status) != 0 && line_errors != 0) {
        return iir_line_status;
    }
    if ((ier & received_data) != 0 && !received.empty()) {
        return received.count < trigger_level() ? iir_character_timeout : iir_received_data;
    }
    if ((ier & transmitter) != 0 && transmitter_interrupt) {
        return iir_transmitter_empty;
    }
    if ((ier & modem) != 0 && modem_changes != 0) {
        return iir_modem_status;
    }
    return iir_none;
}

std::uint8_t Uart16550::read_iir() {
    const std::uint8_t identity = identify_interrupt();
    if (identity == iir_transmitter_empty) {
        transmitter_interrupt = false;
    }
    return static_cast<std::uint8_t>(identity | (fifo_enabled() ? iir_fifos_enabled : 0));
}

bool Uart16550::line() const {
    return (mcr & out2) != 0 && !loopback() && identify_interrupt() != iir_none;
}

} // namespace previrt
