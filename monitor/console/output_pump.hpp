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

// Writes to a descriptor that may block for ever, by a thread of its own behind a pipe. The caller never
// waits. The descriptor's mode stays, since other programs share it.
class OutputPump {
public:
    // Throws InputError.
    explicit OutputPump(int descriptor);
    ~OutputPump(); // discards unwritten text
    OutputPump(const OutputPump&) = delete;
    OutputPump& operator=(const OutputPump&) = delete;

    // Begins to write. The thread has the caller's filter and privileges at this time.
    void start();

    // Takes all text, and holds the rest while the pipe is full. The caller must not write more until it has
    // room.
    void write(std::string_view text);
    [[nodiscard]] bool is_full() const { return !held_.empty(); }
    [[nodiscard]] std::size_t held_bytes() const { return held_.size(); }
    // No more text will come.
    void end();
    // After end(): all text has been written, or cannot be.
    [[nodiscard]] bool is_over() const { return over_; }

    // For poll(): room in the pipe, or its end. Call polled() afterwards.
    [[nodiscard]] pollfd wanted() const;
    void polled(const pollfd& poll);

    // Calls end(), and waits until all is written, at most for this time.
    void finish(std::chrono::milliseconds within);

    // Of the given bytes.
    [[nodiscard]] std::uint64_t lost_bytes() const { return given_ - written_; }
    // Why it cannot write; 0: it can.
    [[nodiscard]] int error() const { return error_; }

private:
    void push();
    void run();
    void write_all(std::string_view text);

    Descriptor output_; // a duplicate: the destructor redirects its number
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
