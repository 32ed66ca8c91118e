// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <type_traits>

namespace previrt {

// The part of the 8042 that a PC without keyboard needs: its output port, with the lines for reset and A20.
// It answers no command, so that a driver's test finds no keyboard.
struct KeyboardController {
    static constexpr std::uint16_t data_port = 0x60;
    static constexpr std::uint16_t command_port = 0x64;

    bool last_was_command = false;
    bool output_port_follows = false; // after command 0xd1

    static constexpr bool decodes(std::uint16_t port) { return port == data_port || port == command_port; }

    [[nodiscard]] std::uint8_t read(std::uint16_t port) const;

    enum class Effect : std::uint8_t { none, reset, a20_off };
    Effect write(std::uint16_t port, std::uint8_t value);
};

static_assert(std::is_trivially_copyable_v<KeyboardController>);

} // namespace previrt
