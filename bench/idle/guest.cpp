// SPDX-License-Identifier: BSD-2-Clause
#include "bench/idle/guest.hpp"

#include "host/input_error.hpp"

#include <array>
#include <csignal>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace previrt {

namespace {

struct Started {
    pid_t process;
    Descriptor output;
};

Started start(const Program& program) {
    const Descriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
    Pipe output = make_pipe();
    const pid_t process = start_program(
        program,
        {.input = nothing.number(), .output = output.write.number(), .error = output.write.number()});
    return {.process = process, .output = std::move(output.read)};
}

} // namespace

IdleGuest::IdleGuest(const Program& program, std::string word)
    : word_(std::move(word)), begin_(Clock::now()) {
    Started started = start(program);
    process_ = started.process;
    output_ = std::move(started.output);
}

IdleGuest::~IdleGuest() {
    kill(process_, SIGTERM);
    wait_for_program(process_);
}

void IdleGuest::read_output() {
    std::array<char, 4096> block{};
    const ssize_t got = read(output_.number(), block.data(), block.size());
    if (got <= 0) {
        throw InputError("a guest ended before it was up; it said:\n" + said_);
    }
    said_.append(block.data(), static_cast<std::size_t>(got));
    if (!is_up_ && said_.find(word_) != std::string::npos) {
        is_up_ = true;
        took_ = age();
    }
}

void IdleGuest::require_running() const {
    siginfo_t ended{};
    if (waitid(P_PID, static_cast<id_t>(process_), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        ended.si_pid != 0) {
        throw InputError("a guest ended while it was idle; it said:\n" + said_);
    }
}

} // namespace previrt
