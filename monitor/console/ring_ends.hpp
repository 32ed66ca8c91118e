// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/contract/console_ring.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace previrt {

// Our ends of the rings. The guest can write all of a ring at any time: our own counter is kept here and
// never read back, and the other one is read once and believed as far as the ring's size.

class RingReader {
public:
    explicit RingReader(monitored::ConsoleRing& ring) : ring_(ring) {}

    // Before it waits for a doorbell: false where something has come already. read() ends it.
    bool wait();
    // What is there: no more than the ring holds, whatever the guest claims. All of it counts as read.
    std::string read();

private:
    monitored::ConsoleRing& ring_;
    std::uint32_t consumed_ = 0;
};

class RingWriter {
public:
    explicit RingWriter(monitored::ConsoleRing& ring) : ring_(ring) {}

    // Gives how much of the text there was room for.
    std::size_t write(std::string_view text);

private:
    monitored::ConsoleRing& ring_;
    std::uint32_t produced_ = 0;
};

} // namespace previrt
