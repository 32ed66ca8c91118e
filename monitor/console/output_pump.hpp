// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <poll.h>
#include <string>
#include <string_view>
#include <thread>

namespace previrt {

// Writes to a descriptor that nobody may read, and so may block for ever: by a thread of its own, behind a
// pipe. The giver of text never waits. The descriptor's own mode stays, since other programs share it.
class OutputPump {
public:
    // Throws InputError.
    explicit OutputPump(int descriptor);
    ~OutputPump(); // what is not written by then is lost
    OutputPump(const OutputPump&) = delete;
    OutputPump& operator=(const OutputPump&) = delete;

    // From here on it is written. The thread has the filter and the privileges that the caller has by then.
    void start();

    // Takes all of it, and holds the rest while the pipe is full. The caller gives no more until then.
    void write(std::string_view text);
    [[nodiscard]] bool is_full() const { return !held_.empty(); }
    // Nothing more comes.
    void end();
    // Behind end(): all has been written, or cannot be.
    [[nodiscard]] bool is_over() const { return over_; }

    // To be polled: room, or its end. Then polled().
    [[nodiscard]] pollfd wanted() const;
    void polled(const pollfd& poll);

    // Ends it, and waits until all is written, but no longer than this.
    void finish(std::chrono::milliseconds within);

    // Of what it was given.
    [[nodiscard]] std::uint64_t lost_bytes() const { return given_ - written_; }
    // Why it cannot write; 0: it can.
    [[nodiscard]] int error() const { return error_; }

private:
    void push();
    void run();
    void write_all(std::string_view text);

    Descriptor output_; // of our own number, which the destructor may give another meaning
    Descriptor nothing_;
    Descriptor over_event_;
    Pipe pipe_;
    std::string held_;
    bool ended_ = false;
    bool over_ = false;
    std::uint64_t given_ = 0;
    std::atomic<std::uint64_t> written_ = 0;
    std::atomic<int> error_ = 0;
    std::thread thread_;
};

} // namespace previrt
