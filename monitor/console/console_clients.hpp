// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

#include <cstddef>
#include <poll.h>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace previrt {

// Other programs of this user's at a guest's console (previrt console). The guest waits for none of them: a
// client that stops to read loses output, and is told how much.
class ConsoleClients {
public:
    static constexpr std::size_t most = 16;

    // Of the socket to which clients connect; -1: none ever does.
    explicit ConsoleClients(int listener) : listener_(listener) {}

    void show(std::string_view text);

    // For poll(): adds some, of which polled() gets the answers. `most_keys`: that the guest takes now.
    void add_wanted(std::vector<pollfd>& polls, std::size_t most_keys) const;
    // Returns the clients' keys.
    std::string polled(std::span<const pollfd> polls, std::size_t most_keys);

    [[nodiscard]] bool are_there() const { return !clients_.empty(); }
    [[nodiscard]] bool have_typed() const { return have_typed_; }

private:
    struct Client {
        Descriptor socket;
        std::string held; // output that it has not taken yet
        std::size_t lost = 0;
        bool types = true; // until it has closed this direction
        bool is_gone = false;
    };

    static void hold(Client& client, std::string_view text);
    static void deliver(Client& client);
    void read_keys(Client& client, std::string& keys, std::size_t most_keys);
    void accept_client();

    int listener_;
    std::string recent_; // the end of the output, for a client that comes later
    std::vector<Client> clients_;
    bool have_typed_ = false;
};

} // namespace previrt
