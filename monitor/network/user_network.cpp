// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/network/user_network.hpp"

#include "host/input_error.hpp"
#include "monitor/network/packet_socket.hpp"
#include "monitor/network/user_network_child.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <malloc.h>
#include <string>
#include <sys/socket.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace previrt {

namespace {

// The child's first message: the missing layers. Throws InputError if the child failed.
std::string await_start(const Descriptor& end) {
    std::array<char, 512> text{};
    ssize_t got = 0;
    do {
        got = recv(end.number(), text.data(), text.size(), 0);
    } while (got < 0 && errno == EINTR);
    if (got <= 0) {
        throw InputError("its process ended before it had begun");
    }
    std::string said(text.data() + 1, static_cast<std::size_t>(got - 1));
    if (text[0] != static_cast<char>(UserNetworkStart::begun)) {
        throw InputError(said);
    }
    return said;
}

} // namespace

UserNetwork::UserNetwork(const NetworkChoice& choice) {
    PacketPair pair = make_packet_pair();
    widen_send_buffer(pair.ours);
    widen_send_buffer(pair.theirs);
    malloc_trim(0); // the kernel was unpacked here, and the network's process would keep a copy
    process_ = fork();
    if (process_ < 0) {
        throw InputError("--net user: fork: " + std::generic_category().message(errno));
    }
    if (process_ == 0) {
        become_user_network(choice, pair.theirs.number());
    }
    pair.theirs.close();
    end_ = std::move(pair.ours);
    try {
        lacking_ = await_start(end_);
        if (fcntl(end_.number(), F_SETFL, O_NONBLOCK) != 0) {
            throw InputError("its socket: " + std::generic_category().message(errno));
        }
    } catch (const InputError& error) {
        end_.close();
        waitpid(process_, nullptr, 0);
        throw InputError(std::string("--net user: ") + error.what());
    }
}

UserNetwork::~UserNetwork() {
    end_.close();
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
}

} // namespace previrt
