// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "ethernet/frame.hpp"

#include <array>
#include <cstdint>

namespace previrt::dp83820 {

enum class Transceiver : std::uint8_t { copper, fibre };

// Microwire 93C46, 64 words of 16 bits. Reads work; writes and erasures have no effect.
struct Eeprom {
    static constexpr std::uint32_t checksum_word = 0xd;

    enum class Phase : std::uint8_t { start, command, data, ignored };

    std::array<std::uint16_t, 64> words{};
    Phase phase = Phase::start;
    std::uint8_t count = 0;    // bits of the phase so far
    std::uint16_t shifted = 0; // the command while it comes, the word while it goes
    bool output = true;        // pulled up
    bool selected = false;
    bool clock = false;

    // The factory's contents for this card.
    void fill(const ethernet::MacAddress& address, Transceiver transceiver);
    [[nodiscard]] ethernet::MacAddress address() const;
    [[nodiscard]] std::uint32_t cfg() const; // the bits of CFG that it straps
    [[nodiscard]] std::uint16_t subsystem() const { return words[0]; }
    [[nodiscard]] std::uint16_t subsystem_vendor() const { return words[1]; }

    // The present levels of EESEL, EECLK and EEDI.
    void drive(bool select, bool clock_level, bool input);

private:
    void clock_in(bool input);
    [[nodiscard]] std::uint16_t checksum() const;
};

} // namespace previrt::dp83820
