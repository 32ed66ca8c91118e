// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

#include <chrono>
#include <string>
#include <sys/types.h>

namespace previrt {

// A guest that prints a word when it is up, and then sleeps. The destructor ends its program.
class IdleGuest {
public:
    using Clock = std::chrono::steady_clock;

    // Throws InputError if it cannot be started.
    IdleGuest(const Program& program, std::string word);
    ~IdleGuest();
    IdleGuest(const IdleGuest&) = delete;
    IdleGuest& operator=(const IdleGuest&) = delete;

    // For poll(), until it is up.
    [[nodiscard]] int output() const { return output_.number(); }
    // Throws InputError with its output, if it has ended.
    void read_output();
    void require_running() const;

    [[nodiscard]] bool is_up() const { return is_up_; }
    // From the start of the program until the guest was up.
    [[nodiscard]] std::chrono::nanoseconds took() const { return took_; }
    [[nodiscard]] std::chrono::nanoseconds age() const { return Clock::now() - begin_; }
    // Of the program that runs it.
    [[nodiscard]] pid_t process() const { return process_; }
    [[nodiscard]] const std::string& said() const { return said_; }

private:
    std::string word_;
    Clock::time_point begin_;
    pid_t process_ = 0;
    Descriptor output_;
    std::string said_;
    bool is_up_ = false;
    std::chrono::nanoseconds took_{};
};

} // namespace previrt
