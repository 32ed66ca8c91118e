// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/channel/vsock_end.hpp"

#include <poll.h>
#include <span>
#include <vector>

namespace previrt {

// A user of the streams between the monitor and the guest's agent. One thread serves all of them, and waits
// for nothing but poll().
class ChannelPart {
public:
    ChannelPart() = default;
    ChannelPart(const ChannelPart&) = delete;
    ChannelPart& operator=(const ChannelPart&) = delete;
    virtual ~ChannelPart() = default;

    // Adds the streams that it has from the beginning.
    virtual void join(VsockEnd& guest) = 0;
    // Sends what it has for the guest.
    virtual void serve(VsockEnd& guest) = 0;
    // Adds what it waits for.
    virtual void watch(std::vector<pollfd>& polls) const = 0;
    // The results, in the same order.
    virtual void polled(std::span<const pollfd> polls) = 0;
};

} // namespace previrt
