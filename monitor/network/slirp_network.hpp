// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/network/choice.hpp"

#include <bitset>
#include <cstdint>
#include <memory>
#include <poll.h>
#include <slirp/libslirp.h>
#include <span>
#include <vector>

namespace previrt {

// libslirp, and a socket to a guest that blocks. What the guest does not read yet keeps all of it waiting,
// and so those whom it is connected to: nothing is dropped, nothing heaps up.
class SlirpNetwork {
public:
    // Throws InputError where a port cannot be had.
    SlirpNetwork(const NetworkChoice& choice, int socket);

    void run(); // until the socket's other end has been closed

private:
    static const SlirpCb callbacks;

    void forward(const PortForward& forward);
    bool take_frames();
    void give_frame(std::span<const std::uint8_t> frame);

    struct Release {
        void operator()(Slirp* slirp) const { slirp_cleanup(slirp); }
    };
    // To this machine's loopback, which the guest may not.
    [[nodiscard]] bool is_refused(std::span<const std::uint8_t> frame) const;
    void note_datagram(std::span<const std::uint8_t> frame);

    int socket_;
    bool host_loopback_;
    // Ports of this machine that a datagram came to the guest from: it may answer.
    std::bitset<65536> may_be_answered_;
    bool guest_lives_ = true;
    std::vector<pollfd> waiting_;
    std::unique_ptr<Slirp, Release> slirp_;
};

} // namespace previrt
