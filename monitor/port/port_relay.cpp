// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/port/port_relay.hpp"

#include "devices/virtio_console/packet.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace previrt {

using console_port::Event;
using console_port::Header;

namespace {

constexpr int longest_batch = 64;              // packets; then the other direction gets its turn
constexpr std::uint32_t most_from_host = 4096; // bytes in one packet: Linux's buffers have as many
constexpr std::uint32_t packet_to_guest = console_port::header_bytes + most_from_host;

} // namespace

PortEnds::PortEnds(const std::vector<PortChoice>& choices) {
    for (const PortChoice& choice : choices) {
        ports_.push_back({.number = choice.number,
                          .input = choice.input,
                          .pump = choice.output < 0 ? nullptr : std::make_unique<OutputPump>(choice.output)});
    }
}

void PortEnds::begin() {
    for (const Port& port : ports_) {
        if (port.pump) {
            port.pump->start();
        }
    }
}

PortEnds::Port* PortEnds::find(unsigned number) {
    const auto found = std::ranges::find(ports_, number, &Port::number);
    return found == ports_.end() ? nullptr : &*found;
}

PortRelay::PortRelay(PortEnds& ends, monitored::PacketRing& sent, monitored::PacketRing& received,
                     std::function<void()> call_guest)
    : ends_(ends), sent_(sent), received_(received), call_guest_(std::move(call_guest)) {}

bool PortRelay::serve() {
    const bool goes_on = take_packets();
    lacks_room_ = false;
    for (PortEnds::Port& port : ends_.ports_) {
        if (port.input >= 0 && port.wants && port.is_ready) {
            read_input(port);
        }
    }
    finish();
    return goes_on;
}

// The guest can still change the packet: its header is copied first.
bool PortRelay::take_packets() {
    is_held_ = false;
    for (int i = 0; i < longest_batch; ++i) {
        const auto packet = sent_.next();
        if (!packet) {
            return false;
        }
        Header header{};
        if (packet->bytes.size() >= sizeof header) {
            std::memcpy(&header, packet->bytes.data(), sizeof header);
            PortEnds::Port* const port = ends_.find(header.port);
            if (port != nullptr && header.event == Event::wants) {
                port->wants = true;
            } else if (port != nullptr && port->pump && header.event == Event::bytes) {
                if (port->pump->is_full()) {
                    is_held_ = true;
                    return false;
                }
                const auto bytes = packet->bytes.subspan(sizeof header);
                port->pump->write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
            }
        }
        sent_.release();
    }
    return true;
}

// Directly into the ring.
void PortRelay::read_input(PortEnds::Port& port) {
    const std::span<std::uint8_t> room = received_.reserve(packet_to_guest);
    if (room.empty()) {
        lacks_room_ = true;
        return;
    }
    port.is_ready = false;
    const ssize_t got = read(port.input, room.data() + console_port::header_bytes, most_from_host);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
        return;
    }
    const Header header{.port = port.number, .event = got > 0 ? Event::bytes : Event::ended};
    std::memcpy(room.data(), &header, sizeof header);
    received_.commit(console_port::header_bytes + static_cast<std::uint32_t>(std::max<ssize_t>(got, 0)));
    port.wants = false;
    port.input = got > 0 ? port.input : -1;
}

void PortRelay::finish() {
    if (monitored::must_call(received_, sent_)) {
        call_guest_();
    }
}

void PortRelay::watch(std::vector<pollfd>& polls) const {
    for (const PortEnds::Port& port : ends_.ports_) {
        const bool reads = port.wants && !lacks_room_;
        polls.push_back({.fd = reads ? port.input : -1, .events = POLLIN, .revents = 0});
        polls.push_back(port.pump ? port.pump->wanted() : pollfd{.fd = -1, .events = 0, .revents = 0});
    }
}

// A false counter without a packet counts as nothing: otherwise a guest could keep this thread from sleeping.
bool PortRelay::wait() {
    const bool no_room = !lacks_room_ || received_.wait(packet_to_guest);
    const bool no_packet = is_held_ || sent_.wait() || !sent_.next();
    return no_room && no_packet;
}

void PortRelay::polled(std::span<const pollfd> polls) {
    for (std::size_t i = 0; i < ends_.ports_.size(); ++i) {
        PortEnds::Port& port = ends_.ports_[i];
        port.is_ready = port.is_ready || polls[2 * i].revents != 0;
        if (port.pump) {
            port.pump->polled(polls[(2 * i) + 1]);
        }
    }
}

bool PortRelay::deliver() {
    while (take_packets()) {
    }
    bool is_delivered = !is_held_;
    for (PortEnds::Port& port : ends_.ports_) {
        port.wants = false;
        if (!is_held_ && port.pump && !port.pump->is_over()) {
            port.pump->end();
            is_delivered = is_delivered && (port.pump->is_over() || port.pump->error() != 0);
        }
    }
    return is_delivered;
}

} // namespace previrt
