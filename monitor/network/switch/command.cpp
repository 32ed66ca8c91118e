// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/network/switch/command.hpp"

#include "host/call_filter.hpp"
#include "host/descriptor_limit.hpp"
#include "monitor/network/switch/learning_switch.hpp"

#include <iostream>
#include <seccomp.h>

namespace previrt {

namespace {

// The switch alone sees the clients' frames: it needs only its sockets, and the right to remove its own.
void confine() {
    CallFilter filter;
    filter.allow({SCMP_SYS(accept4), SCMP_SYS(recvfrom), SCMP_SYS(sendto), SCMP_SYS(setsockopt),
                  SCMP_SYS(close), SCMP_SYS(epoll_wait), SCMP_SYS(epoll_ctl), SCMP_SYS(write),
                  SCMP_SYS(writev), SCMP_SYS(newfstatat), SCMP_SYS(fstat), SCMP_SYS(lstat),
                  SCMP_SYS(unlink)});
    filter.apply();
}

void print(const SwitchCounts& counts, std::size_t port) {
    std::cout << "port " << port << ": " << counts.clients
              << (counts.clients == 1 ? " client, " : " clients, ") << counts.from << " frames from it, "
              << counts.to << " to it, " << counts.lost << " lost as it took none, " << counts.no_frame
              << " refused\n";
}

} // namespace

void run_switch(const std::string& path, const Descriptor& end) {
    raise_descriptor_limit(); // one for each client
    LearningSwitch between(path);
    std::cout << "previrt: switch: guests reach it by --net switch=" << path << "; Ctrl-C ends it" << '\n'
              << std::flush;
    confine();
    between.run(end);
    for (std::size_t port = 0; port < between.counts().size(); ++port) {
        print(between.counts()[port], port);
    }
}

} // namespace previrt
