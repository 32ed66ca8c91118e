// SPDX-License-Identifier: BSD-2-Clause
#include "bench/timed_program.hpp"

#include "host/input_error.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <deque>
#include <fcntl.h>
#include <poll.h>
#include <system_error>
#include <unistd.h>

namespace previrt {

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::size_t lines_kept = 20;
constexpr auto leaves_within = 5s; // after a request to end

class TimedProgram {
public:
    TimedProgram(const Program& program, std::chrono::seconds at_most, const TimedLine& line)
        : line_(line), begin_(Clock::now()), deadline_(begin_ + at_most) {
        const Descriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
        Pipe output = make_pipe();
        process_ = start_program(
            program,
            {.input = nothing.number(), .output = output.write.number(), .error = output.write.number()});
        output_ = std::move(output.read);
    }

    TimedEnd run() {
        while (read_output()) {
        }
        TimedEnd end{.status = wait_for_program(process_), .timed_out = asked_ > 0, .last_lines = {}};
        for (const std::string& line : last_) {
            end.last_lines += line + '\n';
        }
        return end;
    }

private:
    // False: its output has ended.
    bool read_output() {
        pollfd waiting{.fd = output_.number(), .events = POLLIN, .revents = 0};
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
        const int ready = poll(&waiting, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
        const auto now = Clock::now();
        if (ready < 0 && errno != EINTR) {
            throw InputError("poll: " + std::generic_category().message(errno));
        }
        if (ready <= 0) {
            end_if_late(now);
            return true;
        }
        std::array<char, 4096> block{};
        const ssize_t got = read(output_.number(), block.data(), block.size());
        if (got <= 0) {
            return false;
        }
        take({block.data(), static_cast<std::size_t>(got)}, now - begin_);
        end_if_late(now);
        return true;
    }

    // At first a request, so that the program can end its own processes.
    void end_if_late(Clock::time_point now) {
        if (now >= deadline_) {
            kill(process_, asked_++ == 0 ? SIGTERM : SIGKILL);
            deadline_ = now + leaves_within;
        }
    }

    void take(std::string_view text, std::chrono::nanoseconds since_start) {
        for (const char character : text) {
            if (character == '\n') {
                line_(unfinished_, since_start);
                last_.push_back(std::move(unfinished_));
                unfinished_.clear();
                if (last_.size() > lines_kept) {
                    last_.pop_front();
                }
            } else if (character != '\r') {
                unfinished_ += character;
            }
        }
    }

    const TimedLine& line_;
    Clock::time_point begin_;
    Clock::time_point deadline_;
    pid_t process_ = -1;
    Descriptor output_;
    unsigned asked_ = 0; // the number of requests to end
    std::string unfinished_;
    std::deque<std::string> last_;
};

} // namespace

TimedEnd run_timed(const Program& program, std::chrono::seconds at_most, const TimedLine& line) {
    return TimedProgram(program, at_most, line).run();
}

} // namespace previrt
