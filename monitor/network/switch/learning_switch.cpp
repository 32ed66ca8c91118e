// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/network/switch/learning_switch.hpp"

#include "host/input_error.hpp"
#include "monitor/network/frame.hpp"
#include "monitor/network/packet_socket.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace previrt {

namespace {

// Keys of epoll's events; a port's key is its number.
constexpr std::uint64_t the_listener = ~std::uint64_t{0};
constexpr std::uint64_t the_end = the_listener - 1;

constexpr std::uint8_t group = 1; // in the first byte of an address

[[noreturn]] void refuse(const std::string& what, int error) {
    throw InputError(what + ": " + std::generic_category().message(error));
}

bool is_listened_to(const sockaddr_un& address) {
    const Descriptor client = make_packet_socket();
    return connect(client.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
           errno != ECONNREFUSED;
}

MacAddress address_in(std::span<const std::uint8_t> frame, std::size_t offset) {
    MacAddress address{};
    std::ranges::copy(frame.subspan(offset, address.size()), address.begin());
    return address;
}

} // namespace

LearningSwitch::LearningSwitch(std::string path)
    : path_(std::move(path)), listener_(make_packet_socket()), events_(epoll_create1(EPOLL_CLOEXEC)) {
    if (events_.number() < 0) {
        refuse("epoll", errno);
    }
    listen();
    watch(listener_, the_listener, true);
}

LearningSwitch::~LearningSwitch() {
    struct stat now{};
    if (lstat(path_.c_str(), &now) == 0 && now.st_dev == device_ && now.st_ino == inode_) {
        unlink(path_.c_str());
    }
}

void LearningSwitch::listen() {
    const sockaddr_un address = make_socket_address(path_);
    struct stat there{};
    if (lstat(path_.c_str(), &there) == 0) {
        if (!S_ISSOCK(there.st_mode)) {
            throw InputError(path_ + ": a file is there that is no socket");
        }
        if (is_listened_to(address)) {
            throw InputError(path_ + ": something listens there already");
        }
        unlink(path_.c_str());
    }
    if (bind(listener_.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listener_.number(), SOMAXCONN) != 0 || lstat(path_.c_str(), &there) != 0) {
        refuse(path_, errno);
    }
    device_ = there.st_dev;
    inode_ = there.st_ino;
}

void LearningSwitch::watch(const Descriptor& descriptor, std::uint64_t name, bool comes) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = name;
    if (epoll_ctl(events_.number(), comes ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, descriptor.number(), &event) !=
        0) {
        refuse("epoll", errno);
    }
}

void LearningSwitch::run(const Descriptor& end) {
    watch(end, the_end, true);
    for (bool ended = false; !ended;) {
        std::array<epoll_event, 64> events{};
        const int count = epoll_wait(events_.number(), events.data(), static_cast<int>(events.size()), -1);
        if (count < 0 && errno != EINTR) {
            refuse("epoll", errno);
        }
        for (const epoll_event& event :
             std::span(events).first(static_cast<std::size_t>(std::max(count, 0)))) {
            if (event.data.u64 == the_end) {
                ended = true;
            } else if (event.data.u64 == the_listener) {
                take_client();
            } else {
                serve(event.data.u64);
            }
        }
    }
    watch(end, the_end, false);
}

void LearningSwitch::heed_listener(bool heeded) {
    if (heeded != heeds_listener_) {
        watch(listener_, the_listener, heeded);
        heeds_listener_ = heeded;
    }
}

void LearningSwitch::take_client() {
    Descriptor client(accept4(listener_.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (client.number() < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            heed_listener(false); // until a client leaves
        }
        return;
    }
    widen_send_buffer(client);
    const auto free = std::ranges::find(ports_, -1, &Descriptor::number);
    const auto port = static_cast<std::size_t>(free - ports_.begin());
    watch(client, port, true);
    if (free == ports_.end()) {
        ports_.push_back(std::move(client));
        counts_.emplace_back();
    } else {
        *free = std::move(client);
    }
    ++counts_[port].clients;
    heed_listener(std::ranges::count_if(ports_, [](const Descriptor& each) { return each.number() >= 0; }) <
                  static_cast<std::ptrdiff_t>(most_clients));
}

void LearningSwitch::lose_client(std::size_t port) {
    addresses_.forget_port(port);
    ports_[port].close();
    heed_listener(true);
}

// Takes a few of its frames, so that others get their turn.
void LearningSwitch::serve(std::size_t port) {
    constexpr int most_in_turn = 64;
    std::array<std::uint8_t, longest_frame> bytes;
    for (int i = 0; i < most_in_turn; ++i) {
        const ssize_t got = recv(ports_[port].number(), bytes.data(), bytes.size(), MSG_TRUNC);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        if (got <= 0) {
            lose_client(port);
            return;
        }
        const auto length = static_cast<std::size_t>(got);
        if (length < frame_header || length > longest_frame) {
            ++counts_[port].no_frame;
            continue;
        }
        forward(std::span(bytes).first(length), port);
    }
}

void LearningSwitch::forward(std::span<const std::uint8_t> frame, std::size_t from) {
    const MacAddress destination = address_in(frame, 0);
    const MacAddress source = address_in(frame, destination.size());
    if ((source[0] & group) != 0) {
        ++counts_[from].no_frame;
        return;
    }
    ++counts_[from].from;
    addresses_.learn(source, from);
    if ((destination[0] & group) == 0) {
        if (const auto port = addresses_.find(destination)) {
            if (*port != from) {
                send(frame, *port);
            }
            return;
        }
    }
    for (std::size_t port = 0; port < ports_.size(); ++port) {
        if (port != from && ports_[port].number() >= 0) {
            send(frame, port);
        }
    }
}

void LearningSwitch::send(std::span<const std::uint8_t> frame, std::size_t to) {
    const ssize_t sent = ::send(ports_[to].number(), frame.data(), frame.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    ++(sent < 0 ? counts_[to].lost : counts_[to].to);
}

} // namespace previrt
