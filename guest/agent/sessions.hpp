// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt::agent {

// Takes a request of the monitor's from this socket, and starts a process that runs the command.
void start_session(int& sessions);

// Starts a process that does so until the guest ends. The caller is about to become the root's own first
// process.
void serve_sessions_beside_init();

} // namespace previrt::agent
