// SPDX-License-Identifier: BSD-2-Clause
#include "devices/platform/system_control.hpp"

#include "devices/pit8254/pit8254.hpp"

namespace previrt {

namespace {

constexpr std::uint8_t a_fast_reset = 0x01;
constexpr std::uint8_t a_a20 = 0x02;
constexpr std::uint8_t b_writable = 0x0f;
constexpr std::uint8_t b_refresh = 0x10;
constexpr std::uint8_t b_out2 = 0x20;
constexpr std::uint8_t reset_now = 0x04;
constexpr std::uint8_t reset_writable = 0x0e;

// Memory is refreshed every 15 us, by counter 1 of the 8254 counting 18.
bool refresh_toggle(std::uint64_t now) {
    return (Pit8254::Clock::cycles(now) / 18) % 2 != 0;
}

} // namespace

std::uint8_t SystemControl::read(std::uint16_t port, bool out2, std::uint64_t now) const {
    switch (port) {
    case port_a:
        return a;
    case port_b:
        return static_cast<std::uint8_t>(b | (refresh_toggle(now) ? b_refresh : 0) | (out2 ? b_out2 : 0));
    case reset_control:
        return reset;
    default:
        return post;
    }
}

SystemControl::Effect SystemControl::write(std::uint16_t port, std::uint8_t value) {
    const auto rises = [value](std::uint8_t before, std::uint8_t bit) {
        return (value & bit) != 0 && (before & bit) == 0;
    };
    Effect effect = Effect::none;
    switch (port) {
    case port_a:
        if (rises(a, a_fast_reset)) {
            effect = Effect::reset;
        } else if ((value & a_a20) == 0) {
            effect = Effect::a20_off;
        }
        a = value & (a_fast_reset | a_a20);
        break;
    case port_b:
        b = value & b_writable;
        break;
    case reset_control:
        effect = rises(reset, reset_now) ? Effect::reset : Effect::none;
        reset = value & reset_writable;
        break;
    default:
        post = value;
        break;
    }
    return effect;
}

} // namespace previrt
