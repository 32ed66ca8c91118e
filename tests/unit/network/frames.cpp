// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/network/frames.hpp"

#include <algorithm>
#include <poll.h>
#include <sys/socket.h>

namespace previrt {

bool send_frame(int socket, const Bytes& frame) {
    return send(socket, frame.data(), frame.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
           static_cast<ssize_t>(frame.size());
}

Bytes take_frame(int socket) {
    constexpr int patience = 20000;
    Bytes frame(std::size_t{1} << 16U);
    pollfd waiting{.fd = socket, .events = POLLIN, .revents = 0};
    const ssize_t got =
        poll(&waiting, 1, patience) > 0 ? recv(socket, frame.data(), frame.size(), MSG_DONTWAIT) : 0;
    frame.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return frame;
}

Bytes make_numbered_frame(std::uint32_t number, std::size_t bytes) {
    Bytes frame(bytes);
    std::uint32_t state = (number * 2654435761U) + 1;
    std::ranges::generate(frame, [&] {
        state = (state * 1664525U) + 1013904223U;
        return static_cast<std::uint8_t>(state >> 24U);
    });
    return frame;
}

} // namespace previrt
