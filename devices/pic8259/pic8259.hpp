// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>

namespace previrt {

// One Intel 8259A, with the ELCR that PCI chip sets added. Before ICW1 it masks everything.
struct Pic8259 {
    bool is_master = false; // the SP/EN pin
    std::uint8_t lines = 0; // the IR pins
    std::uint8_t irr = 0;
    std::uint8_t isr = 0;
    std::uint8_t imr = 0xff;
    std::uint8_t elcr = 0; // 1: level triggered
    std::uint8_t icw1 = 0;
    std::uint8_t icw2 = 0;
    std::uint8_t icw3 = 0; // master: inputs with a slave; slave: its identity
    std::uint8_t icw4 = 0;
    std::uint8_t expected_icw = 0; // 2, 3 or 4 during initialization
    std::uint8_t lowest_priority = 7;
    bool rotate_in_automatic_eoi = false;
    bool special_mask_mode = false;
    bool read_isr = false; // otherwise IRR
    bool poll = false;

    // `a0` is the address pin: port 0x20 or 0xa0 if false, 0x21 or 0xa1 if true.
    std::uint8_t read(bool a0);
    void write(bool a0, std::uint8_t value);
    void write_elcr(std::uint8_t value);
    void set_line(unsigned level, bool asserted);

    // The level that the INT pin requests, if any.
    [[nodiscard]] std::optional<unsigned> highest_request() const {
        // The frequent case first: there is no request.
        return (irr & ~imr) == 0 || expected_icw != 0 ? std::nullopt : highest_unmasked();
    }
    // INTA: the level now in service, or 7 with none in service if the request has gone.
    unsigned acknowledge();
    [[nodiscard]] std::uint8_t vector(unsigned level) const;

private:
    void write_icw1(std::uint8_t value);
    void write_expected_icw(std::uint8_t value);
    void write_ocw2(std::uint8_t value);
    void write_ocw3(std::uint8_t value);
    [[nodiscard]] std::uint8_t level_triggered() const;
    [[nodiscard]] unsigned priority(unsigned level) const;
    [[nodiscard]] unsigned highest(std::uint8_t levels) const;
    [[nodiscard]] std::uint8_t inhibiting() const;
    [[nodiscard]] std::optional<unsigned> highest_unmasked() const;
};

static_assert(std::is_trivially_copyable_v<Pic8259>);

} // namespace previrt
