// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"
#include "monitor/profile/counts_memory.hpp"

#include <optional>
#include <poll.h>
#include <span>
#include <string>
#include <vector>

namespace previrt {

// Other programs of this user's that watch the guest's instructions (previrt top). Each connection gets the
// counts of the moment, and its end.
class CountsClients {
public:
    static constexpr std::size_t most = 4;

    // `listener`: the socket to which clients connect; -1: none ever does.
    explicit CountsClients(int listener) : listener_(listener) {}

    // From now on these counts. Without some, a client gets nothing but the end.
    void serve(const std::optional<CountsMemory>& counts) { counts_ = counts; }

    // For poll(): adds some, of which polled() gets the answers.
    void add_wanted(std::vector<pollfd>& polls) const;
    void polled(std::span<const pollfd> polls);

private:
    struct Client {
        Descriptor socket;
        std::string left; // that it has not taken
    };

    void accept_client();
    // False: it has all, or is gone.
    static bool deliver(Client& client);

    int listener_;
    std::optional<CountsMemory> counts_;
    std::vector<Client> clients_;
};

} // namespace previrt
