// SPDX-License-Identifier: BSD-2-Clause
#include "devices/platform/keyboard_controller.hpp"

namespace previrt {

namespace {

constexpr std::uint8_t status_system_flag = 0x04;
constexpr std::uint8_t status_last_was_command = 0x08;
constexpr std::uint8_t status_not_locked = 0x10;

constexpr std::uint8_t command_write_output_port = 0xd1;
constexpr std::uint8_t command_a20_off = 0xdd;
constexpr std::uint8_t command_pulse = 0xf0; // pulses those of bits 0 to 3 that are 0

constexpr std::uint8_t output_no_reset = 0x01;
constexpr std::uint8_t output_a20 = 0x02;

} // namespace

std::uint8_t KeyboardController::read(std::uint16_t port) const {
    if (port == data_port) {
        return 0; // its output buffer is always empty
    }
    return static_cast<std::uint8_t>(status_system_flag | status_not_locked |
                                     (last_was_command ? status_last_was_command : 0));
}

KeyboardController::Effect KeyboardController::write(std::uint16_t port, std::uint8_t value) {
    last_was_command = port == command_port;
    if (last_was_command) {
        output_port_follows = value == command_write_output_port;
        const bool pulses_reset = value >= command_pulse && (value & output_no_reset) == 0;
        if (value == command_a20_off) {
            return Effect::a20_off;
        }
        return pulses_reset ? Effect::reset : Effect::none;
    }
    if (!output_port_follows) {
        return Effect::none;
    }
    output_port_follows = false;
    if ((value & output_no_reset) == 0) {
        return Effect::reset;
    }
    return (value & output_a20) == 0 ? Effect::a20_off : Effect::none;
}

} // namespace previrt
