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

// libslirp, and a blocking socket to a guest. While the guest does not read, libslirp and all its connections
// wait: nothing is dropped, nothing piles up.
class SlirpNetwork {
public:
    // Throws InputError if a port is not available.
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
    // To this machine's loopback, which the guest must not reach.
    [[nodiscard]] bool is_refused(std::span<const std::uint8_t> frame) const;
    void note_datagram(std::span<const std::uint8_t> frame);

    int socket_;
    bool host_loopback_;
    // Ports of this machine from which the guest has received a datagram: it may answer.
    std::bitset<65536> may_be_answered_;
    bool guest_lives_ = true;
    std::vector<pollfd> waiting_;
    std::unique_ptr<Slirp, Release> slirp_;
};

} // namespace previrt
