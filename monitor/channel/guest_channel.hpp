// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/contract/packet_ring.hpp"
#include "backends/common/contract/vsock_start.hpp"
#include "host/program.hpp"
#include "monitor/channel/command_channel.hpp"
#include "monitor/channel/guest_sessions.hpp"
#include "monitor/guest/guest_threads.hpp"
#include "monitor/options.hpp"

#include <functional>
#include <memory>
#include <poll.h>
#include <sys/types.h>
#include <vector>

namespace previrt {

struct ChannelRings {
    monitored::PacketRing& sent;
    monitored::PacketRing& received;
};

// The streams between the monitor and the guest's agent, and the thread that moves their bytes.
class GuestChannel {
public:
    // Call it before there is a guest. Throws InputError.
    explicit GuestChannel(const RunOptions& options);

    // An eventfd: the guest's doorbell.
    [[nodiscard]] const Descriptor& called() const { return called_; }
    static void describe(monitored::VsockStart& start);
    // Null: the guest has no command of its own.
    [[nodiscard]] CommandChannel* command() { return command_.get(); }
    [[nodiscard]] const CommandEnd* command_end() const { return command_ ? &command_->result() : nullptr; }

    // The thread's work, until the guest has ended and its output is delivered. It confines itself.
    void relay(const ChannelRings& rings, const std::function<void()>& call_guest, pid_t group);
    // The guest has ended.
    void end() const;

private:
    bool wait(VsockEnd& guest, bool goes_on);

    Descriptor called_;
    Descriptor ended_;
    int listener_; // of further commands; -1: none
    std::unique_ptr<CommandChannel> command_;
    std::unique_ptr<GuestSessions> sessions_;
    std::vector<ChannelPart*> parts_;
    std::vector<pollfd> polls_;
    std::vector<std::size_t> begins_; // of the parts in it, and its end
};

// Null: the guest has no agent.
std::unique_ptr<GuestChannel> open_guest_channel(const RunOptions& options);

// The thread of a channel, which must outlive it. Without a channel it has no work.
ChannelThread channel_thread(GuestChannel* channel, const ChannelRings& rings,
                             std::function<void()> call_guest, pid_t group = 0);

} // namespace previrt
