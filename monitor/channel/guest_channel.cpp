// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/channel/guest_channel.hpp"

#include "host/input_error.hpp"
#include "monitor/guest/confinement.hpp"

#include <cerrno>
#include <span>
#include <sys/eventfd.h>
#include <system_error>
#include <utility>

namespace previrt {

namespace {

constexpr std::uint64_t guest_cid = 3; // the first that a guest may have

} // namespace

GuestChannel::GuestChannel(const RunOptions& options)
    : called_(make_event()), ended_(make_event()), listener_(options.sessions) {
    if (!options.command.empty()) {
        command_ = std::make_unique<CommandChannel>(options);
        parts_.push_back(command_.get());
    }
    if (options.sessions >= 0) {
        sessions_ = std::make_unique<GuestSessions>(options.sessions);
        parts_.push_back(sessions_.get());
    }
}

void GuestChannel::describe(monitored::VsockStart& start) {
    start.guest_cid = guest_cid;
    start.is_there = true;
}

void GuestChannel::relay(const ChannelRings& rings, const std::function<void()>& call_guest, pid_t group) {
    confine_channel_thread(listener_, group);
    VsockEnd guest(guest_cid, rings.sent, rings.received, call_guest);
    for (ChannelPart* const part : parts_) {
        part->join(guest);
    }
    bool lives = true;
    while (lives) {
        const bool goes_on = guest.receive();
        for (ChannelPart* const part : parts_) {
            part->serve(guest);
        }
        guest.finish();
        lives = wait(guest, goes_on);
    }
    while (guest.receive()) { // the guest's last packets
    }
    if (command_) {
        command_->deliver();
    }
}

// False: the guest has ended.
bool GuestChannel::wait(VsockEnd& guest, bool goes_on) {
    polls_.assign({{.fd = called_.number(), .events = POLLIN, .revents = 0},
                   {.fd = ended_.number(), .events = POLLIN, .revents = 0}});
    begins_.clear();
    for (const ChannelPart* const part : parts_) {
        begins_.push_back(polls_.size());
        part->watch(polls_);
    }
    begins_.push_back(polls_.size());
    const int limit = goes_on || !guest.wait() ? 0 : -1;
    if (poll(polls_.data(), polls_.size(), limit) < 0 && errno != EINTR) {
        throw InputError("poll: " + std::generic_category().message(errno));
    }
    if (polls_[0].revents != 0) {
        eventfd_t count = 0;
        eventfd_read(called_.number(), &count);
    }
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        parts_[i]->polled(std::span(polls_).subspan(begins_[i], begins_[i + 1] - begins_[i]));
    }
    return polls_[1].revents == 0;
}

void GuestChannel::end() const {
    eventfd_write(ended_.number(), 1);
}

std::unique_ptr<GuestChannel> open_guest_channel(const RunOptions& options) {
    return has_agent(options) ? std::make_unique<GuestChannel>(options) : nullptr;
}

ChannelThread channel_thread(GuestChannel* channel, const ChannelRings& rings,
                             std::function<void()> call_guest, pid_t group) {
    if (channel == nullptr) {
        return {};
    }
    ChannelThread thread;
    thread.run = [channel, rings, call = std::move(call_guest), group] {
        channel->relay(rings, call, group);
    };
    thread.end = [channel] { channel->end(); };
    if (CommandChannel* const command = channel->command()) {
        thread.begin = [command] { command->begin(); };
        thread.finish = [command] { command->finish(); };
        thread.given_up = command->given_up().number();
    }
    return thread;
}

} // namespace previrt
