// SPDX-License-Identifier: BSD-2-Clause
// MEAR bit by bit, in the order in which FreeBSD moves its bits.
#pragma once

#include "tests/unit/devices/dp83820/card.hpp"

namespace previrt {

// The EEPROM behind EESEL, EECLK, EEDI and EEDO.
class EepromPins {
public:
    explicit EepromPins(Card& its_card) : card(its_card) {}

    std::uint16_t read(std::uint32_t address) {
        idle();
        card.clear(at, dp83820::mear_eeclk);
        card.set(at, dp83820::mear_eesel);
        send(0x180U | address, 11); // two zeros before the start bit do no harm
        std::uint16_t word = 0;
        for (unsigned bit = 0; bit < 16; ++bit) {
            card.set(at, dp83820::mear_eeclk);
            word = static_cast<std::uint16_t>((word * 2U) +
                                              ((card.read(at) & dp83820::mear_eedo) != 0 ? 1U : 0U));
            card.clear(at, dp83820::mear_eeclk);
        }
        idle();
        return word;
    }
    void send(std::uint64_t bits, unsigned count) {
        for (unsigned bit = count; bit-- > 0;) {
            if (((bits >> bit) & 1U) != 0) {
                card.set(at, dp83820::mear_eedi);
            } else {
                card.clear(at, dp83820::mear_eedi);
            }
            card.set(at, dp83820::mear_eeclk);
            card.clear(at, dp83820::mear_eeclk);
        }
    }
    void idle() {
        card.set(at, dp83820::mear_eesel);
        card.set(at, dp83820::mear_eeclk);
        for (unsigned i = 0; i < 25; ++i) {
            card.clear(at, dp83820::mear_eeclk);
            card.set(at, dp83820::mear_eeclk);
        }
        card.clear(at, dp83820::mear_eeclk);
        card.clear(at, dp83820::mear_eesel);
        card.write(at, 0);
    }

private:
    static constexpr std::uint32_t at = dp83820::at::mear;

    Card& card;
};

// PHYs behind MDC and MDIO.
class MiiPins {
public:
    explicit MiiPins(Card& its_card) : card(its_card) {}

    // nullopt: nobody has pulled the turnaround bit down.
    std::optional<std::uint16_t> read(std::uint32_t phy, std::uint32_t index) {
        send(0xffff'ffff, 32);
        send(0b0110, 4);
        send((phy << 5U) | index, 10);
        card.write(at, 0);
        clock_in();
        const bool answered = !level();
        clock_in();
        std::uint16_t value = 0;
        for (unsigned bit = 0; bit < 16; ++bit) {
            value = static_cast<std::uint16_t>((value * 2U) + (level() ? 1U : 0U));
            clock_in();
        }
        clock_in();
        return answered ? std::optional(value) : std::nullopt;
    }
    void write(std::uint32_t phy, std::uint32_t index, std::uint16_t value) {
        send(0xffff'ffff, 32);
        send(0b0101, 4);
        send((phy << 5U) | index, 10);
        send(0b10, 2);
        send(value, 16);
        card.write(at, 0);
        clock_in();
    }
    void send(std::uint64_t bits, unsigned count) {
        for (unsigned bit = count; bit-- > 0;) {
            const std::uint32_t value =
                dp83820::mear_mddir | (((bits >> bit) & 1U) != 0 ? dp83820::mear_mdio : 0);
            card.write(at, value);
            card.write(at, value | dp83820::mear_mdc);
            card.write(at, value);
        }
    }
    bool level() { return (card.read(at) & dp83820::mear_mdio) != 0; }

private:
    static constexpr std::uint32_t at = dp83820::at::mear;

    void clock_in() {
        card.write(at, dp83820::mear_mdc);
        card.write(at, 0);
    }

    Card& card;
};

} // namespace previrt
