// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/network/slirp_network.hpp"

#include "host/input_error.hpp"
#include "monitor/network/frame.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <ctime>
#include <sys/socket.h>
#include <system_error>

namespace previrt {

namespace {

// libslirp's bits and those of poll() mean the same, but need not be equal.
struct EventName {
    int slirp;
    short poll;
};
constexpr std::array<EventName, 5> event_names = {{{.slirp = SLIRP_POLL_IN, .poll = POLLIN},
                                                   {.slirp = SLIRP_POLL_OUT, .poll = POLLOUT},
                                                   {.slirp = SLIRP_POLL_PRI, .poll = POLLPRI},
                                                   {.slirp = SLIRP_POLL_ERR, .poll = POLLERR},
                                                   {.slirp = SLIRP_POLL_HUP, .poll = POLLHUP}}};

short to_poll(int slirp) {
    int events = 0;
    for (const EventName& name : event_names) {
        events |= (slirp & name.slirp) != 0 ? name.poll : 0;
    }
    return static_cast<short>(events);
}

int from_poll(short poll) {
    int events = 0;
    for (const EventName& name : event_names) {
        events |= (poll & name.poll) != 0 ? name.slirp : 0;
    }
    return events;
}

in_addr address(const char* text) {
    in_addr address{};
    inet_pton(AF_INET, text, &address);
    return address;
}

// A guest can make libslirp 4.7.0 write outside its memory by its fragments: libslirp gets only whole
// packets.
bool is_fragment(std::span<const std::uint8_t> frame) {
    constexpr std::size_t type = 12;
    constexpr std::size_t flags_and_offset = 20;
    return frame.size() > flags_and_offset + 1 && frame[type] == 0x08 && frame[type + 1] == 0x00 &&
           ((frame[flags_and_offset] & 0x3fU) != 0 || frame[flags_and_offset + 1] != 0);
}

constexpr std::size_t protocol_at = 23;
constexpr std::size_t source_at = 26;
constexpr std::size_t destination_at = 30;
constexpr std::size_t transport_at = 14;

bool is_ipv4(std::span<const std::uint8_t> frame) {
    constexpr std::size_t type = 12;
    constexpr std::size_t shortest = 34;
    return frame.size() >= shortest && frame[type] == 0x08 && frame[type + 1] == 0x00;
}

std::uint32_t address_at(std::span<const std::uint8_t> frame, std::size_t offset) {
    std::uint32_t value = 0;
    for (const std::uint8_t byte : frame.subspan(offset, sizeof value)) {
        value = value << 8U | byte;
    }
    return value;
}

// 0 behind the frame's end.
std::size_t word_of_transport(std::span<const std::uint8_t> frame, std::size_t offset) {
    const std::size_t at = transport_at + (std::size_t{4} * (frame[transport_at] & 0xfU)) + offset;
    return at + 1 < frame.size() ? static_cast<std::size_t>(frame[at] << 8U | frame[at + 1]) : 0;
}

constexpr std::uint32_t this_machine = 0x0a000202; // 10.0.2.2

std::int64_t nanoseconds() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    constexpr std::int64_t second = 1'000'000'000;
    return (now.tv_sec * second) + now.tv_nsec;
}

} // namespace

// libslirp needs timers only for IPv6, which is off.
const SlirpCb SlirpNetwork::callbacks = {
    .send_packet = [](const void* bytes, std::size_t length, void* network) -> ssize_t {
        static_cast<SlirpNetwork*>(network)->give_frame({static_cast<const std::uint8_t*>(bytes), length});
        return static_cast<ssize_t>(length);
    },
    .guest_error = [](const char*, void*) {},
    .clock_get_ns = [](void*) { return nanoseconds(); },
    .timer_new = [](SlirpTimerCb, void*, void*) -> void* { std::abort(); },
    .timer_free = [](void*, void*) { std::abort(); },
    .timer_mod = [](void*, std::int64_t, void*) { std::abort(); },
    .register_poll_fd = [](int, void*) {}, // every poll gets all descriptors anew
    .unregister_poll_fd = [](int, void*) {},
    .notify = [](void*) {}, // there is no other thread
    .init_completed = [](Slirp*, void*) {},
    .timer_new_opaque = [](SlirpTimerId, void*, void*) -> void* { std::abort(); }};

SlirpNetwork::SlirpNetwork(const NetworkChoice& choice, int socket)
    : socket_(socket), host_loopback_(choice.host_loopback) {
    SlirpConfig configuration{};
    configuration.version = SLIRP_CONFIG_VERSION_MAX;
    configuration.in_enabled = true;
    configuration.vnetwork = address("10.0.2.0");
    configuration.vnetmask = address("255.255.255.0");
    configuration.vhost = address("10.0.2.2");
    configuration.vdhcp_start = address("10.0.2.15");
    configuration.vnameserver = address("10.0.2.3");
    // libslirp would also drop the guest's answer to a forwarded datagram.
    const bool forwards_datagrams =
        std::ranges::any_of(choice.forwards, [](const PortForward& each) { return each.udp; });
    configuration.disable_host_loopback = !choice.host_loopback && !forwards_datagrams;
    configuration.if_mtu = choice.mtu;
    configuration.if_mru = choice.mtu;
    slirp_.reset(slirp_new(&configuration, &callbacks, this));
    if (!slirp_) {
        throw InputError("libslirp refuses it");
    }
    for (const PortForward& each : choice.forwards) {
        forward(each);
    }
}

void SlirpNetwork::forward(const PortForward& forward) {
    errno = 0;
    if (slirp_add_hostfwd(slirp_.get(), forward.udp ? 1 : 0, address(forward.host_address.c_str()),
                          forward.host_port, address("10.0.2.15"), forward.guest_port) == 0) {
        return;
    }
    const int error = errno;
    throw InputError(forward.text + ": port " + std::to_string(forward.host_port) + " of " +
                     forward.host_address + ": " + std::generic_category().message(error) +
                     (error == EADDRINUSE ? "; choose another" : "") +
                     (error == EACCES ? "; those from 1024 on are for every user" : ""));
}

void SlirpNetwork::run() {
    while (guest_lives_) {
        std::uint32_t wait = INT_MAX;
        waiting_.assign(1, {.fd = socket_, .events = POLLIN, .revents = 0});
        slirp_pollfds_fill(
            slirp_.get(), &wait,
            [](int descriptor, int events, void* opaque) {
                auto& waiting = static_cast<SlirpNetwork*>(opaque)->waiting_;
                waiting.push_back({.fd = descriptor, .events = to_poll(events), .revents = 0});
                return static_cast<int>(waiting.size() - 1);
            },
            this);
        const int limit = wait >= INT_MAX ? -1 : static_cast<int>(wait);
        const bool failed = poll(waiting_.data(), waiting_.size(), limit) < 0;
        slirp_pollfds_poll(
            slirp_.get(), failed ? 1 : 0,
            [](int index, void* opaque) {
                const auto& waiting = static_cast<SlirpNetwork*>(opaque)->waiting_;
                return from_poll(waiting.at(static_cast<std::size_t>(index)).revents);
            },
            this);
        guest_lives_ = guest_lives_ && (failed || waiting_.front().revents == 0 || take_frames());
    }
}

// Takes a few frames, so that peers of the guest get their turn. False: the guest has ended.
bool SlirpNetwork::take_frames() {
    constexpr int most_in_turn = 64;
    std::array<std::uint8_t, longest_frame> bytes;
    for (int i = 0; i < most_in_turn && guest_lives_; ++i) {
        const ssize_t got = recv(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_TRUNC);
        if (got < 0) {
            return errno == EAGAIN || errno == EINTR;
        }
        if (got == 0) {
            return false;
        }
        const auto length = static_cast<std::size_t>(got);
        if (length >= frame_header && length <= bytes.size() &&
            !is_fragment(std::span(bytes).first(length)) && !is_refused(std::span(bytes).first(length))) {
            slirp_input(slirp_.get(), bytes.data(), static_cast<int>(length));
        }
    }
    return true;
}

// This machine connects to 0/8 and 127/8 by its loopback, whatever libslirp was told, and libslirp maps names
// of its own to it. A connection begins with SYN without ACK.
bool SlirpNetwork::is_refused(std::span<const std::uint8_t> frame) const {
    constexpr std::uint32_t everybody = 0xffffffff;
    constexpr std::size_t flags = 12; // low byte of the word
    constexpr std::size_t syn_ack = 0x12;
    constexpr std::size_t syn = 2;
    constexpr std::size_t dhcp = 67;
    if (host_loopback_ || !is_ipv4(frame)) {
        return false;
    }
    const std::uint32_t to = address_at(frame, destination_at);
    if (to >> 24U == 0 || to >> 24U == IN_LOOPBACKNET) {
        return true;
    }
    if (to != this_machine && to != everybody) {
        return false;
    }
    const std::size_t port = word_of_transport(frame, 2);
    return (frame[protocol_at] == IPPROTO_TCP && (word_of_transport(frame, flags) & syn_ack) == syn) ||
           (frame[protocol_at] == IPPROTO_UDP && port != dhcp && !may_be_answered_.test(port));
}

void SlirpNetwork::note_datagram(std::span<const std::uint8_t> frame) {
    if (is_ipv4(frame) && frame[protocol_at] == IPPROTO_UDP && address_at(frame, source_at) == this_machine) {
        may_be_answered_.set(word_of_transport(frame, 0));
    }
}

void SlirpNetwork::give_frame(std::span<const std::uint8_t> frame) {
    note_datagram(frame);
    ssize_t sent = 0;
    do {
        sent = send(socket_, frame.data(), frame.size(), MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    guest_lives_ = guest_lives_ && (sent >= 0 || (errno != EPIPE && errno != ECONNRESET));
}

} // namespace previrt
