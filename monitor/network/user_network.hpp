// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"
#include "monitor/network/choice.hpp"

#include <string>
#include <sys/types.h>

namespace previrt {

// A network of a guest's own, as any user may have it: 10.0.2.0/24, with this machine as 10.0.2.2, which
// gives it 10.0.2.15 by DHCP, names by 10.0.2.3, and opens for it the connections that it asks for. A child
// of ours, libslirp in it, is at the other end.
class UserNetwork {
public:
    // Before the guest's memory is mapped and other threads are started: the child is a copy of us. It lives
    // no longer than the calling thread. Throws InputError where a port cannot be had.
    explicit UserNetwork(const NetworkChoice& choice);
    ~UserNetwork(); // ends it
    UserNetwork(const UserNetwork&) = delete;
    UserNetwork& operator=(const UserNetwork&) = delete;

    [[nodiscard]] int end() const { return end_.number(); } // nonblocking
    [[nodiscard]] pid_t process() const { return process_; }
    // What should keep it from this machine's files, and why it does not; empty: it does.
    [[nodiscard]] const std::string& lacking() const { return lacking_; }

private:
    Descriptor end_;
    pid_t process_ = 0;
    std::string lacking_;
};

} // namespace previrt
