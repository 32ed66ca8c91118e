// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/devices/port_access.hpp"

#include "frontends/x86/devices/floating_bus.hpp"
#include "frontends/x86/devices/machine.hpp"
#include "inplace-vmm/backend/time.hpp"
#include "inplace-vmm/stop.hpp"

#include <algorithm>

namespace previrt {

namespace {

// Linux's delays and firmware's progress codes use this port: neither needs the devices brought up to date.
constexpr std::uint16_t post_port = 0x80;

// The 8254 loads a count with the next pulse of its clock. On a real bus, an access takes longer than that;
// here it could follow at once. It must not see the old count.
struct TimerBus {
    static void written(std::uint16_t port) {
        if (is_timer(port) && port != control_port) {
            machine_state.timer_count_written_at = std::max(backend::now(), pc.advanced_to);
        }
    }
    static void wait_before(std::uint16_t port, bool is_read) {
        if (!is_timer(port) || (!is_read && port != control_port)) {
            return;
        }
        constexpr std::uint64_t pulse = 839; // nanoseconds
        while (backend::now() < machine_state.timer_count_written_at + pulse) {
        }
    }

private:
    static constexpr std::uint16_t control_port = 0x43;
    static bool is_timer(std::uint16_t port) { return (port & ~3U) == 0x40; }
};

} // namespace

std::uint32_t read_port(std::uint16_t port, unsigned width) {
    TimerBus::wait_before(port, true);
    const std::optional<std::uint32_t> value = pc.read(port, width, backend::now());
    device_was_read();
    if (value) {
        return *value;
    }
    constexpr const char* what = "a read of a port that is not modelled:";
    if (pc.claims_port(port, width)) {
        stop_guest(what, port);
    }
    float_port(port, what);
    return static_cast<std::uint32_t>(width_mask(width));
}

void write_port(std::uint16_t port, unsigned width, std::uint32_t value) {
    TimerBus::wait_before(port, false);
    if (!pc.write(port, width, value, backend::now())) {
        constexpr const char* what = "a write to a port that is not modelled:";
        if (pc.claims_port(port, width)) {
            stop_guest(what, port);
        }
        float_port(port, what);
        return;
    }
    TimerBus::written(port);
    if (PicPair::decodes(port)) {
        interrupt_controller_was_written(); // Linux's handlers write five times: the other devices can wait
    } else if (port != post_port) {
        take_events();
    }
}

} // namespace previrt
