// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt::dp83820 {

// A 10/100/1000 transceiver of clause 22, of no particular maker. Its link partner supports everything, and
// negotiation takes no time.
struct Phy {
    static constexpr std::uint8_t address = 1;

    enum class Speed : std::uint8_t { none, at_10, at_100, at_1000 };
    struct Mode {
        Speed speed;
        bool full_duplex;
    };

    bool cable = true;        // plugged in; not the guest's
    bool link_failed = false; // BMSR reports a lost link once
    std::uint16_t bmcr = 0;
    std::uint16_t anar = 0;
    std::uint16_t gtcr = 0; // 1000BASE-T control

    void reset();
    void set_cable(bool connected);
    [[nodiscard]] bool link() const { return cable && mode().speed != Speed::none; }
    [[nodiscard]] Mode mode() const;
    [[nodiscard]] bool loops_back() const;

    // Absent registers read 0.
    std::uint16_t read(std::uint8_t index);
    void write(std::uint8_t index, std::uint16_t value);

private:
    std::uint16_t read_status();
    [[nodiscard]] bool negotiates() const;
    void note_link();
};

} // namespace previrt::dp83820
