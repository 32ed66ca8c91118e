// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/console/console_clients.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/socket.h>
#include <utility>

namespace previrt {

namespace {

constexpr std::size_t most_held = 65536;
constexpr std::size_t most_recent = 16384;

} // namespace

void ConsoleClients::show(std::string_view text) {
    if (listener_ < 0) {
        return;
    }
    recent_ += text.substr(text.size() - std::min(text.size(), most_recent));
    recent_.erase(0, recent_.size() - std::min(recent_.size(), most_recent));
    for (Client& client : clients_) {
        hold(client, text);
        deliver(client);
    }
}

void ConsoleClients::hold(Client& client, std::string_view text) {
    const std::size_t taken = std::min(text.size(), most_held - std::min(most_held, client.held.size()));
    // Behind the first lost byte all is lost until the client has read the rest.
    const std::size_t shown = client.lost == 0 ? taken : 0;
    client.held += text.substr(0, shown);
    client.lost += text.size() - shown;
}

void ConsoleClients::deliver(Client& client) {
    while (!client.held.empty() && !client.is_gone) {
        const ssize_t sent =
            send(client.socket.number(), client.held.data(), client.held.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0) {
            client.is_gone = errno != EAGAIN && errno != EINTR;
            return;
        }
        client.held.erase(0, static_cast<std::size_t>(sent));
        if (client.held.empty() && client.lost != 0) {
            client.held = "\r\n[previrt: " + std::to_string(client.lost) + " bytes are left out here]\r\n";
            client.lost = 0;
        }
    }
}

void ConsoleClients::add_wanted(std::vector<pollfd>& polls, std::size_t most_keys) const {
    polls.push_back({.fd = clients_.size() < most ? listener_ : -1, .events = POLLIN, .revents = 0});
    for (const Client& client : clients_) {
        const int reads = client.types && most_keys != 0 ? POLLIN : 0;
        const int writes = client.held.empty() ? 0 : POLLOUT;
        polls.push_back({.fd = client.socket.number(),
                         .events = static_cast<short>(reads | writes), // NOLINT(google-runtime-int)
                         .revents = 0});
    }
}

std::string ConsoleClients::polled(std::span<const pollfd> polls, std::size_t most_keys) {
    std::string keys;
    for (std::size_t i = 0; i < clients_.size(); ++i) {
        Client& client = clients_[i];
        const auto came = static_cast<unsigned>(polls[i + 1].revents);
        if ((came & POLLIN) != 0) {
            read_keys(client, keys, most_keys);
        }
        if ((came & POLLOUT) != 0) {
            deliver(client);
        }
        // Both directions are closed. While keys wait, their reading tells of that first.
        client.is_gone = client.is_gone || ((came & (POLLHUP | POLLERR)) != 0 && (came & POLLIN) == 0);
    }
    std::erase_if(clients_, [](const Client& client) { return client.is_gone; });
    if (polls.front().revents != 0) {
        accept_client();
    }
    return keys;
}

void ConsoleClients::read_keys(Client& client, std::string& keys, std::size_t most_keys) {
    std::array<char, 256> block{};
    const std::size_t room = std::min(block.size(), most_keys - std::min(most_keys, keys.size()));
    if (room == 0) {
        return;
    }
    const ssize_t got = recv(client.socket.number(), block.data(), room, MSG_DONTWAIT);
    if (got > 0) {
        keys.append(block.data(), static_cast<std::size_t>(got));
        have_typed_ = true;
    } else {
        client.types = got < 0 && (errno == EAGAIN || errno == EINTR);
    }
}

void ConsoleClients::accept_client() {
    Client client;
    client.socket = Descriptor(accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (client.socket.number() >= 0) {
        hold(client, recent_);
        deliver(client);
        clients_.push_back(std::move(client));
    }
}

} // namespace previrt
