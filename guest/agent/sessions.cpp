// SPDX-License-Identifier: BSD-2-Clause
#include "guest/agent/sessions.hpp"

#include "guest/agent/command_run.hpp"
#include "guest/agent/kernel.hpp"
#include "guest/agent/messages.hpp"
#include "guest/agent/monitor_link.hpp"
#include "guest/agent/streams.hpp"

#include <asm-generic/errno.h>
#include <asm-generic/poll.h>
#include <cstdint>

namespace previrt::agent {

namespace {

constexpr unsigned first_own_descriptor = 3;

void close_descriptors() {
    call(__NR_close_range, first_own_descriptor, ~0U, 0);
}

[[noreturn]] void end_process() {
    for (;;) {
        call(__NR_exit_group, 0);
    }
}

// Nothing of the parent's may stay: the end of a pipe would otherwise not reach the parent's command, and the
// end of this process would hang that command up.
[[noreturn]] void run_session(std::uint32_t first_port) {
    close_descriptors();
    hang_up_at_the_end(0);
    hold_child_signal();
    const Streams streams = connect_streams(first_port);
    if (streams.control >= 0) {
        run_command(streams, first_port + (input_port - control_port));
    }
    end_process();
}

// The port of a session that the monitor asks for; 0: there is none. A monitor that has no sessions closes
// the socket.
std::uint32_t take_request(int& sessions) {
    struct Request {
        MessageHeader header;
        Session session;
    } request{};
    const long bytes = call(__NR_read, sessions, address_of(&request), sizeof request);
    if (bytes == -EAGAIN || bytes == -EINTR) {
        return 0;
    }
    if (bytes != sizeof request || request.header.message != Message::session) {
        call(__NR_close, sessions);
        sessions = -1;
        return 0;
    }
    return request.session.port;
}

} // namespace

void start_session(int& sessions) {
    const std::uint32_t port = take_request(sessions);
    if (port != 0 && call(__NR_fork) == 0) {
        run_session(port);
    }
}

void serve_sessions_beside_init() {
    if (call(__NR_fork) != 0) {
        return;
    }
    close_descriptors();
    int sessions = connect_sessions();
    while (sessions >= 0) {
        pollfd waiting{.fd = sessions, .events = POLLIN, .revents = 0};
        call(__NR_poll, address_of(&waiting), 1, -1);
        const std::uint32_t port = take_request(sessions);
        if (port == 0) {
            continue;
        }
        // This child ends at once: init then takes the end of the session's process.
        const long child = call(__NR_fork);
        if (child != 0) {
            call(__NR_wait4, child, 0, 0);
        } else if (call(__NR_fork) == 0) {
            run_session(port);
        } else {
            end_process();
        }
    }
    end_process();
}

} // namespace previrt::agent
