// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/console/output_pump.hpp"

#include <mutex>
#include <streambuf>

namespace previrt {

// Takes over std::cerr while it lives. Once a guest runs, it waits for no reader.
class Messages : private std::streambuf {
public:
    Messages();
    ~Messages() override; // gives the reader some seconds
    Messages(const Messages&) = delete;
    Messages& operator=(const Messages&) = delete;

    // The guest begins. Earlier messages are written first, because a terminal's mode may change.
    void detach();
    [[nodiscard]] OutputPump& pump() { return pump_; }

private:
    int overflow(int character) override;
    std::streamsize xsputn(const char* text, std::streamsize size) override;

    OutputPump pump_;
    std::mutex mutex_;
    std::streambuf* before_;
    std::atomic<bool> detached_ = false;
};

} // namespace previrt
