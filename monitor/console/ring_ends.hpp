// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/contract/console_ring.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace previrt {

// The monitor's ends of the rings. The guest can write all of a ring at any time. Therefore each end keeps
// its own counter and never reads it back; it reads the guest's counter once, and believes it only within the
// ring's size.

class RingReader {
public:
    explicit RingReader(monitored::ConsoleRing& ring) : ring_(ring) {}

    // Announces a wait for a doorbell. False: bytes have come already. read() ends the wait.
    bool wait();
    // Takes all bytes in the ring: no more than its size, whatever the guest claims.
    std::string read();

private:
    monitored::ConsoleRing& ring_;
    std::uint32_t consumed_ = 0;
};

class RingWriter {
public:
    explicit RingWriter(monitored::ConsoleRing& ring) : ring_(ring) {}

    // Returns the number of characters for which there was room.
    std::size_t write(std::string_view text);

private:
    monitored::ConsoleRing& ring_;
    std::uint32_t produced_ = 0;
};

} // namespace previrt
