// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/console/host_console.hpp"

#include "host/input_error.hpp"
#include "monitor/console/messages.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <unistd.h>

namespace previrt {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_keys = 4096; // that the guest has not taken yet
constexpr auto read_within = 2s;        // if the monitor ended the run
constexpr auto answered_within = 300ms; // by a terminal, also over a network

enum Poll : std::uint8_t { keys, output, messages, clients };

} // namespace

HostConsole::HostConsole(const RunOptions& options)
    : options_(options), input_open_(options.watch_console), clients_(options.consoles) {
    if (options.watch_console) {
        output_.emplace(STDOUT_FILENO);
    }
}

void HostConsole::begin() {
    if (output_) {
        output_->start();
    }
    if (options_.messages != nullptr) {
        options_.messages->detach();
    }
}

void HostConsole::show(std::string_view text) {
    clients_.show(text);
    if (!output_) {
        options_.console(text);
        return;
    }
    if (text.find('\033') != std::string_view::npos) {
        asked_at_ = Clock::now(); // the guest may have asked now
    }
    output_->write(text);
}

bool HostConsole::is_full() const {
    return (output_ && output_->is_full()) ||
           (options_.messages != nullptr && options_.messages->pump().is_full());
}

pollfd HostConsole::wanted_keys(bool wants_keys) const {
    const bool reads = input_open_ && (terminal_ || (wants_keys && keys_.empty()));
    return {.fd = reads ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0};
}

std::size_t HostConsole::room_for_keys() const {
    return most_keys - std::min(most_keys, keys_.size());
}

void HostConsole::add_wanted(std::vector<pollfd>& polls, bool wants_keys) const {
    constexpr pollfd nothing{.fd = -1, .events = 0, .revents = 0};
    polls.push_back(wanted_keys(wants_keys));
    polls.push_back(output_ ? output_->wanted() : nothing);
    polls.push_back(options_.messages != nullptr ? options_.messages->pump().wanted() : nothing);
    clients_.add_wanted(polls, room_for_keys());
}

void HostConsole::polled(std::span<const pollfd> polls) {
    if (polls[Poll::keys].revents != 0) {
        read_keys();
    }
    if (output_) {
        output_->polled(polls[Poll::output]);
    }
    if (options_.messages != nullptr) {
        options_.messages->pump().polled(polls[Poll::messages]);
    }
    keys_ += clients_.polled(polls.subspan(Poll::clients), room_for_keys());
}

void HostConsole::read_keys() {
    std::array<char, 256> block{};
    const ssize_t got = read(STDIN_FILENO, block.data(), block.size());
    if (got <= 0) {
        input_open_ = got < 0 && (errno == EINTR || errno == EAGAIN);
        return;
    }
    const std::string_view typed(block.data(), static_cast<std::size_t>(got));
    typed_end_ = typed_end_ || (terminal_ && typed.find(end_guest_key) != std::string_view::npos);
    const std::size_t taken = std::min(typed.size(), room_for_keys());
    keys_ += typed.substr(0, taken);
    keys_lost_ += typed.size() - taken;
}

void HostConsole::deliver(MachineEnd& end, int signals, std::optional<Clock::time_point> deadline) {
    if (output_) {
        await_reader(end, signals, deadline);
        end.lost_output = output_->lost_bytes();
        end.output_error = output_->error();
        end.lost_keys = keys_lost_;
    }
    if (terminal_) {
        discard_answers();
    }
}

void HostConsole::await_reader(MachineEnd& end, int signals, std::optional<Clock::time_point> deadline) {
    if (!output_) {
        return;
    }
    const bool by_itself = !end.timed_out && end.ended_by.empty();
    if (!by_itself) {
        deadline = Clock::now() + read_within;
    } else if (deadline) {
        deadline = std::max(*deadline, Clock::now() + read_within);
    }
    output_->end();
    while (!output_->is_over()) {
        const auto left = deadline ? std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now())
                                   : std::chrono::milliseconds(-1);
        if (deadline && left.count() <= 0) {
            end.timed_out = end.timed_out || by_itself;
            return;
        }
        std::vector<pollfd> waiting = {{.fd = by_itself ? signals : -1, .events = POLLIN, .revents = 0}};
        add_wanted(waiting, false);
        const int most = static_cast<int>(std::min<std::int64_t>(left.count(), 1'000'000));
        if (poll(waiting.data(), waiting.size(), most) < 0 && errno != EINTR) {
            throw InputError("poll: " + std::generic_category().message(errno));
        }
        polled(std::span(waiting).subspan(1));
        if (by_itself && (waiting.front().revents != 0 || typed_end_)) {
            end.ended_by = typed_end_ ? "Ctrl-]" : "a signal";
            return;
        }
    }
}

// A terminal's answer to the guest would go to the next reader, as if it had been typed.
void HostConsole::discard_answers() {
    while (asked_at_ && input_open_) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(*asked_at_ + answered_within - Clock::now());
        std::array<pollfd, 1> waiting = {wanted_keys(false)};
        if (left.count() <= 0 ||
            (poll(waiting.data(), waiting.size(), static_cast<int>(left.count())) < 0 && errno != EINTR)) {
            return;
        }
        if (waiting[0].revents != 0) {
            read_keys();
        }
    }
}

} // namespace previrt
