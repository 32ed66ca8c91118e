// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace previrt {

// The process of a program that serves a guest, and that ends once it is asked to.
class ServerProcess {
public:
    ServerProcess() = default;
    // `messages`: the other end of its standard error.
    ServerProcess(pid_t process, Descriptor messages);
    ServerProcess(ServerProcess&& other) noexcept;
    ServerProcess& operator=(ServerProcess&& other) noexcept;
    ServerProcess(const ServerProcess&) = delete;
    ServerProcess& operator=(const ServerProcess&) = delete;
    ~ServerProcess() = default;

    // 0: its end has been waited for.
    [[nodiscard]] pid_t process() const { return process_; }
    // Waits for its end, and says how it was, also when it is asked once more.
    std::string wait(std::chrono::milliseconds patience);
    [[nodiscard]] bool has_ended() { return !wait_for({}).empty(); }
    // Its last line on standard error that does not begin with this. To be taken once.
    [[nodiscard]] std::string last_message(std::string_view ignored = {}) const;

private:
    // Empty: it has not ended.
    std::string wait_for(std::chrono::milliseconds patience);

    pid_t process_ = 0;
    Descriptor messages_;
    std::string end_;
};

// A pipe for standard error: the program must not wait for a reader. Throws InputError.
Pipe make_message_pipe();

} // namespace previrt
