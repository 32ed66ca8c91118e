// SPDX-License-Identifier: BSD-2-Clause
#include "bench/idle/network.hpp"

#include "host/input_error.hpp"
#include "host/tree.hpp"
#include "monitor/network/frame.hpp"
#include "monitor/network/switch/end.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace previrt {

namespace {

using Clock = std::chrono::steady_clock;

std::string socket_in(const TemporaryDirectory& directory) {
    return directory.path() + "/switch";
}

} // namespace

IdleNetwork::IdleNetwork() {
    start_switch();
    try {
        end_ = connect_to_switch(socket_in(directory_));
        // To itself, so that the switch knows its port, and floods no frame for it.
        send(echo::make(echo::Kind::answer, echo::bench, echo::bench));
    } catch (...) {
        kill(switch_, SIGTERM);
        wait_for_program(switch_);
        throw;
    }
}

IdleNetwork::~IdleNetwork() {
    kill(switch_, SIGTERM);
    switch_output_.close();
    wait_for_program(switch_);
}

void IdleNetwork::start_switch() {
    const Descriptor nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
    Pipe output = make_pipe();
    switch_ = start_program(
        {.arguments = {program_beside_this("previrt"), "switch", socket_in(directory_)},
         .directory = {},
         .environment = {}},
        {.input = nothing.number(), .output = output.write.number(), .error = output.write.number()});
    output.write.close();
    std::array<char, 4096> line{}; // it listens when it says so
    const ssize_t got = ::read(output.read.number(), line.data(), line.size());
    const std::string_view said(line.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (said.find("guests reach it") == std::string_view::npos) {
        kill(switch_, SIGTERM);
        wait_for_program(switch_);
        throw InputError("the switch does not start; it said:\n" + std::string(said));
    }
    switch_output_ = std::move(output.read);
}

std::string IdleNetwork::choice_of(echo::Station guest) const {
    return "switch=" + socket_in(directory_) + ",mac=" + echo::text_of_mac(guest);
}

void IdleNetwork::send(std::span<const std::uint8_t> frame) const {
    pollfd room{.fd = end_.number(), .events = POLLOUT, .revents = 0};
    while (::send(end_.number(), frame.data(), frame.size(), MSG_NOSIGNAL) < 0) {
        if (errno != EAGAIN && errno != EINTR) {
            throw InputError("the switch: " + std::generic_category().message(errno));
        }
        poll(&room, 1, -1);
    }
}

std::vector<echo::Station> IdleNetwork::serve() const {
    std::vector<echo::Station> answered;
    std::array<std::uint8_t, longest_frame> bytes{};
    for (;;) {
        const ssize_t got = recv(end_.number(), bytes.data(), bytes.size(), 0);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
            throw InputError("the switch has ended");
        }
        if (got < 0) {
            return answered;
        }
        const std::span<std::uint8_t> frame = std::span(bytes).first(static_cast<std::size_t>(got));
        const auto received = echo::read(frame, echo::bench);
        if (received && received->kind == echo::Kind::request) {
            echo::turn_into_answer(frame);
            send(frame);
        } else if (received) {
            answered.push_back(received->from);
        }
    }
}

std::optional<std::chrono::nanoseconds> IdleNetwork::ping(echo::Station guest,
                                                          std::chrono::milliseconds within) const {
    const auto begin = Clock::now();
    send(echo::make(echo::Kind::request, guest, echo::bench));
    for (auto now = begin; now < begin + within; now = Clock::now()) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(begin + within - now);
        pollfd waiting{.fd = end_.number(), .events = POLLIN, .revents = 0};
        poll(&waiting, 1, static_cast<int>(left.count()));
        if (std::ranges::count(serve(), guest) != 0) {
            return Clock::now() - begin;
        }
    }
    return std::nullopt;
}

} // namespace previrt
