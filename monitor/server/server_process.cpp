// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/server/server_process.hpp"

#include "host/input_error.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sstream>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace previrt {

ServerProcess::ServerProcess(pid_t process, Descriptor messages)
    : process_(process), messages_(std::move(messages)) {}

ServerProcess::ServerProcess(ServerProcess&& other) noexcept
    : process_(std::exchange(other.process_, 0)), messages_(std::move(other.messages_)),
      end_(std::move(other.end_)) {}

ServerProcess& ServerProcess::operator=(ServerProcess&& other) noexcept {
    process_ = std::exchange(other.process_, 0);
    messages_ = std::move(other.messages_);
    end_ = std::move(other.end_);
    return *this;
}

std::string ServerProcess::wait_for(std::chrono::milliseconds patience) {
    if (process_ == 0) {
        return end_;
    }
    siginfo_t ended{};
    const Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, process_, 0)));
    pollfd waiting{.fd = process.number(), .events = POLLIN, .revents = 0};
    if (process.number() < 0 || poll(&waiting, 1, static_cast<int>(patience.count())) != 1 ||
        waitid(P_PID, static_cast<id_t>(process_), &ended, WEXITED) != 0) {
        return {};
    }
    process_ = 0;
    end_ = ended.si_code == CLD_EXITED ? "exit status " + std::to_string(ended.si_status)
                                       : std::string("signal ") + strsignal(ended.si_status);
    return end_;
}

std::string ServerProcess::wait(std::chrono::milliseconds patience) {
    const std::string end = wait_for(patience);
    return end.empty() ? "it does not end" : end;
}

std::string ServerProcess::last_message(std::string_view ignored) const {
    constexpr std::size_t most = 65536;
    std::string text(most, '\0');
    const ssize_t got = read(messages_.number(), text.data(), text.size());
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    std::string last;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const bool is_ignored = line.empty() || (!ignored.empty() && line.starts_with(ignored));
        last = is_ignored ? last : line;
    }
    return last;
}

Pipe make_message_pipe() {
    Pipe messages = make_pipe();
    for (const Descriptor* const end : {&messages.read, &messages.write}) {
        if (fcntl(end->number(), F_SETFL, O_NONBLOCK) != 0) {
            throw InputError("O_NONBLOCK: " + std::generic_category().message(errno));
        }
    }
    return messages;
}

} // namespace previrt
