// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/machine.hpp"

#include "inplace-vmm/backend.hpp"
#include "inplace-vmm/package.hpp"
#include "inplace-vmm/panic_watch.hpp"
#include "inplace-vmm/stop.hpp"

namespace previrt {

Pc pc;

namespace {

std::optional<std::uint64_t> timer_set_for;
PanicWatch panic_watch;

void set_timer(std::uint64_t now) {
    const std::optional<std::uint64_t> next = pc.next_event(now);
    if (next != timer_set_for) {
        timer_set_for = next;
        backend::set_timer(next);
    }
}

} // namespace

void take_events() {
    while (pc.uart.can_receive()) {
        const std::optional<std::uint8_t> character = backend::read_console();
        if (!character) {
            break;
        }
        pc.uart.receive(*character);
    }
    flush_console();
    const std::uint64_t now = backend::now();
    if (timer_set_for && *timer_set_for <= now) {
        timer_set_for.reset();
    }
    pc.advance(now);
    set_timer(now);
    if (pc.request == Request::reset) {
        end_guest(end_rebooted);
    }
}

void flush_console() {
    char text[64];
    std::size_t length = 0;
    while (const std::optional<std::uint8_t> character = pc.uart.take_transmitted()) {
        text[length++] = static_cast<char>(*character);
        const bool panicked = panic_watch.read(text[length - 1]);
        if (length == sizeof(text) || panicked) {
            backend::write_console({text, length});
            length = 0;
        }
        if (panicked) {
            tell_of_panic();
        }
    }
    if (length != 0) {
        backend::write_console({text, length});
    }
    pc.update_lines();
}

} // namespace previrt
