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
    std::uint64_t clients;  // one after the other
    std::uint64_t from;     // frames of its clients
    std::uint64_t to;       // frames for them
    std::uint64_t lost;     // for which a client had no room
    std::uint64_t no_frame; // too short, too long, or from a group's address
};

// An Ethernet switch between all who connect to its socket. Each message is a frame.
class LearningSwitch {
public:
    static constexpr std::size_t most_clients = 256; // others wait until one has left

    // Takes the place of a switch that has left its socket behind. Throws InputError where one listens.
    explicit LearningSwitch(std::string path);
    ~LearningSwitch(); // removes the socket
    LearningSwitch(const LearningSwitch&) = delete;
    LearningSwitch& operator=(const LearningSwitch&) = delete;

    // Until there is something in this descriptor.
    void run(const Descriptor& end);

    // By port, as many as there ever were at once.
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
    dev_t device_ = 0; // of our socket's file
    ino_t inode_ = 0;
    Descriptor listener_;
    Descriptor events_;
    bool heeds_listener_ = true;
    std::vector<Descriptor> ports_; // -1: free
    std::vector<SwitchCounts> counts_;
    AddressTable addresses_{most_clients};
};

} // namespace previrt
