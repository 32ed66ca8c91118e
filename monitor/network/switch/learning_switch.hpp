// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"
#include "monitor/network/switch/address_table.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <sys/types.h>
#include <vector>

namespace previrt {

struct SwitchCounts {
    std::uint64_t clients;  // in succession
    std::uint64_t from;     // frames of its clients
    std::uint64_t to;       // frames for them
    std::uint64_t lost;     // because a client had no room
    std::uint64_t no_frame; // too short, too long, or with a group's address as sender
};

// An Ethernet switch between all clients that connect to its socket. Each message is a frame.
class LearningSwitch {
public:
    static constexpr std::size_t most_clients = 1024; // others wait until a client leaves

    // Replaces the socket that an ended switch has left behind. Throws InputError if a switch listens there.
    explicit LearningSwitch(std::string path);
    ~LearningSwitch(); // removes the socket
    LearningSwitch(const LearningSwitch&) = delete;
    LearningSwitch& operator=(const LearningSwitch&) = delete;

    // Until this descriptor is readable.
    void run(const Descriptor& end);

    // By port, for the largest number of simultaneous clients.
    [[nodiscard]] const std::vector<SwitchCounts>& counts() const { return counts_; }

private:
    void listen();
    void watch(const Descriptor& descriptor, std::uint64_t name, bool comes);
    void heed_listener(bool heeded);
    void take_client();
    void lose_client(std::size_t port);
    void serve(std::size_t port);
    void forward(std::span<const std::uint8_t> frame, std::size_t from);
    void send(std::span<const std::uint8_t> frame, std::size_t to);

    std::string path_;
    dev_t device_ = 0; // of this switch's socket file
    ino_t inode_ = 0;
    Descriptor listener_;
    Descriptor events_;
    bool heeds_listener_ = true;
    std::vector<Descriptor> ports_; // -1: free
    std::vector<SwitchCounts> counts_;
    AddressTable addresses_{most_clients};
};

} // namespace previrt
