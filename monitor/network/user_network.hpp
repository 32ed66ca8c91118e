// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"
#include "monitor/network/choice.hpp"

#include <string>
#include <sys/types.h>

namespace previrt {

// A network for one guest that any user may create: 10.0.2.0/24, with this machine as 10.0.2.2. It gives the
// guest 10.0.2.15 by DHCP and names by 10.0.2.3, and opens the guest's connections. A child process with
// libslirp is the peer.
class UserNetwork {
public:
    // Create it before the guest's memory is mapped and other threads start: the child is a copy of this
    // process. It ends with the calling thread. Throws InputError if a port is not available.
    explicit UserNetwork(const NetworkChoice& choice);
    ~UserNetwork(); // ends it
    UserNetwork(const UserNetwork&) = delete;
    UserNetwork& operator=(const UserNetwork&) = delete;

    [[nodiscard]] int end() const { return end_.number(); } // nonblocking
    [[nodiscard]] pid_t process() const { return process_; }
    // The missing layers between the child and this machine's files, with the reason; empty: none is missing.
    [[nodiscard]] const std::string& lacking() const { return lacking_; }

private:
    Descriptor end_;
    pid_t process_ = 0;
    std::string lacking_;
};

} // namespace previrt
