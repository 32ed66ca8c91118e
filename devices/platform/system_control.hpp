// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <type_traits>

namespace previrt {

// System control ports A (0x92) and B (0x61), the reset control register (0xcf9) and the POST code (0x80).
struct SystemControl {
    static constexpr std::uint16_t port_a = 0x92;
    static constexpr std::uint16_t port_b = 0x61;
    static constexpr std::uint16_t reset_control = 0xcf9;
    static constexpr std::uint16_t post_code = 0x80;

    std::uint8_t a = 0x02; // A20 is on
    std::uint8_t b = 0;    // bits 0 to 3
    std::uint8_t reset = 0;
    std::uint8_t post = 0;

    static constexpr bool decodes(std::uint16_t port) {
        return port == port_a || port == port_b || port == reset_control || port == post_code;
    }

    // `out2` is OUT of the 8254's counter 2.
    [[nodiscard]] std::uint8_t read(std::uint16_t port, bool out2, std::uint64_t now) const;

    enum class Effect : std::uint8_t { none, reset, a20_off };
    Effect write(std::uint16_t port, std::uint8_t value);

    // GATE of the 8254's counter 2.
    [[nodiscard]] bool gate2() const { return (b & 1U) != 0; }
};

static_assert(std::is_trivially_copyable_v<SystemControl>);

} // namespace previrt
