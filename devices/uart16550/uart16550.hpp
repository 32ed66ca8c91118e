// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/uart16550/ring.hpp"

#include <cstdint>
#include <optional>
#include <type_traits>

namespace previrt {

// National Semiconductor PC16550D. Characters take no time; a terminal is attached: CTS, DSR and DCD are on.
struct Uart16550 {
    struct Character {
        std::uint8_t data;
        std::uint8_t errors; // its LSR bits
    };
    static constexpr std::uint32_t fifo_size = 16;
    static constexpr std::uint32_t transmit_size = 256;

    Ring<Character, fifo_size> received{};
    Ring<std::uint8_t, transmit_size> transmitted{};
    std::uint8_t ier = 0;
    std::uint8_t fcr = 0;
    std::uint8_t lcr = 0;
    std::uint8_t mcr = 0;
    std::uint8_t line_errors = 0;   // LSR bits 1 to 4
    std::uint8_t modem_changes = 0; // MSR bits 0 to 3
    std::uint8_t scr = 0;
    std::uint8_t dll = 0;
    std::uint8_t dlm = 0;
    bool transmitter_interrupt = false; // the holding register is empty, and the guest does not know

    // `port` is taken modulo 8.
    std::uint8_t read(std::uint16_t port);
    void write(std::uint16_t port, std::uint8_t value);

    // The other end of the cable. A character without room is lost and counts as an overrun.
    [[nodiscard]] bool can_receive() const;
    bool receive(std::uint8_t data);
    bool receive_break();
    std::optional<std::uint8_t> take_transmitted();

    // IRQ4: on a PC, OUT2 connects INTR to the bus.
    [[nodiscard]] bool line() const;

private:
    bool accept(Character character);
    std::uint8_t read_data();
    std::uint8_t read_iir();
    std::uint8_t read_lsr();
    std::uint8_t read_msr();
    void write_data(std::uint8_t value);
    void write_ier(std::uint8_t value);
    void write_fcr(std::uint8_t value);
    void write_mcr(std::uint8_t value);
    void write_lcr(std::uint8_t value);
    void reveal_errors();
    [[nodiscard]] bool fifo_enabled() const { return (fcr & 1U) != 0; }
    [[nodiscard]] bool loopback() const { return (mcr & 0x10U) != 0; }
    [[nodiscard]] bool divisor_latch() const { return (lcr & 0x80U) != 0; }
    [[nodiscard]] bool transmitter_empty() const;
    [[nodiscard]] std::uint32_t trigger_level() const;
    [[nodiscard]] std::uint8_t word_mask() const;
    [[nodiscard]] std::uint8_t modem_status() const;
    [[nodiscard]] std::uint8_t identify_interrupt() const;
};

static_assert(std::is_trivially_copyable_v<Uart16550>);

} // namespace previrt
