// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/port/guest_ports.hpp"

#include "host/input_error.hpp"
#include "monitor/guest/confinement.hpp"

#include <cerrno>
#include <poll.h>
#include <span>
#include <sys/eventfd.h>
#include <system_error>

namespace previrt {

namespace {

void poll_all(std::vector<pollfd>& polls, int limit) {
    if (poll(polls.data(), polls.size(), limit) < 0 && errno != EINTR) {
        throw InputError("poll: " + std::generic_category().message(errno));
    }
}

} // namespace

GuestPorts::GuestPorts(const RunOptions& options)
    : choices_(parse_ports(options)), ends_(choices_), called_(make_event()), ended_(make_event()) {}

void GuestPorts::describe(monitored::ConsolePortsStart& start) const {
    for (const PortChoice& choice : choices_) {
        backend::ConsolePort& port = start.ports[choice.number];
        port.name_bytes = static_cast<std::uint32_t>(choice.name.copy(port.name, sizeof port.name));
        port.exists = true;
    }
    start.are_there = !choices_.empty();
}

PortThread GuestPorts::thread(const PortRings& rings, const std::function<void()>& call_guest, pid_t group) {
    if (choices_.empty()) {
        return {};
    }
    return {.begin = [this] { ends_.begin(); },
            .run =
                [this, rings, call_guest, group](int signals) {
                    confine_port_thread(group);
                    PortRelay guest(ends_, rings.sent, rings.received, call_guest);
                    relay(guest, signals);
                },
            .end = [this] { eventfd_write(ended_.number(), 1); }};
}

void GuestPorts::relay(PortRelay& guest, int signals) {
    std::vector<pollfd> polls;
    for (bool lives = true; lives;) {
        const bool goes_on = guest.serve();
        polls.assign({{.fd = called_.number(), .events = POLLIN, .revents = 0},
                      {.fd = ended_.number(), .events = POLLIN, .revents = 0}});
        guest.watch(polls);
        poll_all(polls, goes_on || !guest.wait() ? 0 : -1);
        if (polls[0].revents != 0) {
            eventfd_t count = 0;
            eventfd_read(called_.number(), &count);
        }
        guest.polled(std::span(polls).subspan(2));
        lives = polls[1].revents == 0;
    }
    deliver(guest, signals);
}

// A reader may take its time, until a signal ends the run.
void GuestPorts::deliver(PortRelay& guest, int signals) {
    std::vector<pollfd> polls;
    while (!guest.deliver()) {
        polls.assign({{.fd = signals, .events = POLLIN, .revents = 0}});
        guest.watch(polls);
        poll_all(polls, -1);
        if (polls[0].revents != 0) {
            return;
        }
        guest.polled(std::span(polls).subspan(1));
    }
}

void GuestPorts::describe(std::ostream& output) const {
    for (const PortChoice& choice : choices_) {
        output << "previrt: port " << choice.number << " of the console device"
               << (choice.name.empty() ? "" : ": " + choice.name) << '\n';
    }
}

} // namespace previrt
