// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/network/packet_relay.hpp"

#include <string>
#include <thread>

namespace previrt {

// Connects a relay whose switch has ended to the next switch that listens at the same path.
class SwitchReturn {
public:
    // `end`: the relay's descriptor number, which gets the new socket.
    SwitchReturn(std::string path, int end, const PacketEvents& events);
    // After events.ended.
    ~SwitchReturn();
    SwitchReturn(const SwitchReturn&) = delete;
    SwitchReturn& operator=(const SwitchReturn&) = delete;

private:
    void run() const;
    [[nodiscard]] bool ended_within(int milliseconds) const;
    [[nodiscard]] bool await_loss() const;
    [[nodiscard]] bool connect_again() const;

    std::string path_;
    int end_;
    const PacketEvents& events_;
    std::thread thread_;
};

} // namespace previrt
