// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/profile/counts_clients.hpp"

#include "monitor/profile/counts_json.hpp"

#include <cerrno>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <utility>

namespace previrt {

void CountsClients::add_wanted(std::vector<pollfd>& polls) const {
    polls.push_back({.fd = clients_.size() < most ? listener_ : -1, .events = POLLIN, .revents = 0});
    for (const Client& client : clients_) {
        polls.push_back({.fd = client.socket.number(), .events = POLLOUT, .revents = 0});
    }
}

void CountsClients::polled(std::span<const pollfd> polls) {
    std::vector<Client> waiting;
    for (std::size_t i = 0; i < clients_.size(); ++i) {
        if (polls[i + 1].revents == 0 || deliver(clients_[i])) {
            waiting.push_back(std::move(clients_[i]));
        }
    }
    clients_ = std::move(waiting);
    if (polls.front().revents != 0) {
        accept_client();
    }
}

bool CountsClients::deliver(Client& client) {
    const ssize_t sent =
        send(client.socket.number(), client.left.data(), client.left.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) {
        return errno == EAGAIN || errno == EINTR;
    }
    client.left.erase(0, static_cast<std::size_t>(sent));
    return !client.left.empty();
}

void CountsClients::accept_client() {
    Client client;
    client.socket = Descriptor(accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (client.socket.number() < 0 || !counts_) {
        return;
    }
    client.left = counts_to_json(counts_->read()).dump();
    if (deliver(client)) {
        clients_.push_back(std::move(client));
    }
}

} // namespace previrt
