// SPDX-License-Identifier: BSD-2-Clause
#include "guest/agent/streams.hpp"

#include "guest/agent/kernel.hpp"
#include "guest/agent/messages.hpp"

#include <asm-generic/errno.h>
#include <asm-generic/poll.h>
#include <asm-generic/socket.h>

namespace previrt::agent {

namespace {

constexpr long family_vsock = 40; // AF_VSOCK
constexpr long level_vsock = family_vsock;
constexpr long stream = 1; // SOCK_STREAM
constexpr long nonblocking = 0x800;
constexpr long close_on_exec = 0x80000;
constexpr long buffer_size = 0;     // SO_VM_SOCKETS_BUFFER_SIZE
constexpr long connect_timeout = 6; // SO_VM_SOCKETS_CONNECT_TIMEOUT
constexpr std::uint32_t host_cid = 2;

// sockaddr_vm of Linux's <linux/vm_sockets.h>, which needs a C library's headers.
struct Address {
    std::uint16_t family;
    std::uint16_t reserved;
    std::uint32_t port;
    std::uint32_t cid;
    std::uint8_t rest[4];
};
static_assert(sizeof(Address) == 16);

struct Time {
    std::int64_t seconds;
    std::int64_t microseconds;
};

// All connect at once. The monitor reads as much ahead of the command as the socket of its input holds. It
// may have to wait for its processor much longer than the two seconds that Linux waits for it.
int begin(std::uint32_t port, bool is_input = false) {
    const long made = call(__NR_socket, family_vsock, stream | nonblocking | close_on_exec, 0);
    if (made < 0) {
        return -1;
    }
    const auto socket = static_cast<int>(made);
    if (is_input) {
        const std::uint64_t bytes = 65536;
        call(__NR_setsockopt, socket, level_vsock, buffer_size, address_of(&bytes), sizeof bytes);
    }
    const Time hour{.seconds = 3600, .microseconds = 0};
    call(__NR_setsockopt, socket, level_vsock, connect_timeout, address_of(&hour), sizeof hour);
    const Address address{.family = family_vsock, .reserved = 0, .port = port, .cid = host_cid, .rest = {}};
    const long result = call(__NR_connect, socket, address_of(&address), sizeof address);
    if (result != 0 && result != -EINPROGRESS) {
        call(__NR_close, socket);
        return -1;
    }
    return socket;
}

int finish(int socket) {
    if (socket < 0) {
        return -1;
    }
    pollfd waiting{.fd = socket, .events = POLLOUT, .revents = 0};
    int error = 0;
    int bytes = sizeof error;
    while (call(__NR_poll, address_of(&waiting), 1, -1) <= 0) {
    }
    call(__NR_getsockopt, socket, SOL_SOCKET, SO_ERROR, address_of(&error), address_of(&bytes));
    if (error != 0) {
        call(__NR_close, socket);
        return -1;
    }
    return socket;
}

} // namespace

Streams connect_streams(std::uint32_t first_port) {
    const std::uint32_t to_output = output_port - control_port;
    const std::uint32_t to_errors = error_port - control_port;
    const int control = begin(first_port);
    const int output = begin(first_port + to_output);
    const int errors = begin(first_port + to_errors);
    const int sessions = first_port == control_port ? begin(session_port) : -1;
    return {.control = finish(control),
            .output = finish(output),
            .errors = finish(errors),
            .sessions = finish(sessions)};
}

int connect_sessions() {
    return finish(begin(session_port));
}

int begin_input(std::uint32_t port) {
    return begin(port, true);
}

} // namespace previrt::agent
