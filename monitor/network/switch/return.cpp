// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/network/switch/return.hpp"

#include "host/input_error.hpp"
#include "monitor/network/switch/end.hpp"

#include <array>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

namespace previrt {

namespace {

constexpr int pause_milliseconds = 200; // between two attempts

} // namespace

SwitchReturn::SwitchReturn(std::string path, int end, const PacketEvents& events)
    : path_(std::move(path)), end_(end), events_(events), thread_([this] { run(); }) {}

SwitchReturn::~SwitchReturn() {
    thread_.join();
}

void SwitchReturn::run() const {
    while (await_loss()) {
        while (!connect_again()) {
            if (ended_within(pause_milliseconds)) {
                return;
            }
        }
        eventfd_write(events_.restored.number(), 1);
    }
}

bool SwitchReturn::ended_within(int milliseconds) const {
    pollfd ended{.fd = events_.ended.number(), .events = POLLIN, .revents = 0};
    return poll(&ended, 1, milliseconds) > 0;
}

// False: the guest has ended.
bool SwitchReturn::await_loss() const {
    std::array<pollfd, 2> waiting = {{{.fd = events_.ended.number(), .events = POLLIN, .revents = 0},
                                      {.fd = events_.lost.number(), .events = POLLIN, .revents = 0}}};
    while (poll(waiting.data(), waiting.size(), -1) < 0) {
    }
    eventfd_t count = 0;
    eventfd_read(events_.lost.number(), &count);
    return waiting[0].revents == 0;
}

bool SwitchReturn::connect_again() const {
    try {
        const Descriptor end = connect_to_switch(path_);
        return dup3(end.number(), end_, O_CLOEXEC) == end_;
    } catch (const InputError&) {
        return false; // no switch listens
    }
}

} // namespace previrt
