// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace previrt::agent {

// Carries bytes from one descriptor to another; both are nonblocking. A socket's other end is the monitor,
// any other descriptor's is the command.
class Copy {
public:
    // The room is for the bytes that are under way. -1: there is no such stream.
    void begin(int from, int to, bool to_monitor, char* room, std::size_t room_bytes);

    // For poll(), in this order: `from`, `to`. -1: nothing to wait for.
    struct Polls {
        int from;
        short from_events;
        int to;
        short to_events;
    };
    [[nodiscard]] Polls wanted() const;
    void polled(short from_events, short to_events);

    // The command has ended. Carries the bytes that it has written, `most` at most.
    void finish(std::uint64_t most);
    [[nodiscard]] int from() const { return from_; }

private:
    [[nodiscard]] bool is_empty() const { return begin_ == end_; }
    void fill();
    void drain();
    void end_from();
    void end_to();

    int from_ = -1;
    int to_ = -1;
    bool to_monitor_ = false;
    char* room_ = nullptr;
    std::size_t room_bytes_ = 0;
    std::size_t begin_ = 0; // of the bytes under way
    std::size_t end_ = 0;
};

} // namespace previrt::agent
