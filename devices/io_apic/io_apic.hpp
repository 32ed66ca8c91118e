// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/local_apic/interrupt_message.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace previrt {

// The 82093AA I/O APIC, with the end-of-interrupt register of version 0x20. Before start() there is none.
struct IoApic {
    static constexpr unsigned pins = 24;
    static constexpr std::uint8_t version = 0x20;
    static constexpr std::uint64_t place = 0xfec00000;
    static constexpr std::uint64_t place_bytes = 0x1000;

    bool exists = false;
    std::uint8_t select = 0; // the register that the window shows
    std::uint32_t id = 0;
    std::array<std::uint64_t, pins> entries{}; // the redirection table
    std::uint32_t lines = 0;                   // asserted, by pin
    std::uint32_t edges = 0;                   // that have no message yet
    std::uint32_t ready = 0;                   // pins for which there is a message

    void start();

    // nullopt, false: not modelled, and the VMM must stop the guest. Registers are accessed as a whole. A
    // write may make messages.
    [[nodiscard]] std::optional<std::uint32_t> read(std::uint64_t offset) const;
    bool write(std::uint64_t offset, std::uint32_t value);

    void set_line(unsigned pin, bool asserted);
    // A local APIC has ended a level-triggered interrupt with this vector.
    void end_interrupt(std::uint8_t vector);

    // The next message, which counts as sent. Called until there is none, after each change.
    std::optional<InterruptMessage> next_message();

    // An edge or a level of this pin makes a message.
    [[nodiscard]] bool passes(unsigned pin) const;
    // Some pin makes NMIs.
    [[nodiscard]] bool can_send_nmi() const;

private:
    [[nodiscard]] bool is_level_triggered(unsigned pin) const;
    void update(unsigned pin);
    [[nodiscard]] std::uint32_t read_window() const;
    bool write_window(std::uint32_t value);
    bool write_entry(unsigned pin, bool upper_half, std::uint32_t value);
};

static_assert(std::is_trivially_copyable_v<IoApic>);

} // namespace previrt
