// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/console/guest_console.hpp"

#include "host/input_error.hpp"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <span>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace previrt {

namespace {

using namespace std::chrono_literals;

constexpr auto looks_every = 100ms;   // while a deadline may come
constexpr auto ends_within = 3s;      // after the report of the end
constexpr auto held_back_for = 300ms; // while a person waits for it
constexpr std::size_t longest_tail = 2048;

double seconds(std::chrono::duration<double> duration) {
    return duration.count();
}

} // namespace

MonitoredConsole::MonitoredConsole(const RunOptions& options, const ConsoleEvents& events,
                                   monitored::ConsoleRing& output, monitored::ConsoleRing& input,
                                   std::function<void()> input_came)
    : options_(options), events_(events), output_(output), input_(input), input_came_(std::move(input_came)),
      host_(options), counts_clients_(options.counts) {}

void MonitoredConsole::relay(const Descriptor& ending_signals, bool terminal) {
    if (terminal) {
        host_.is_terminal();
    }
    begin_ = Clock::now();
    while (!stop_) {
        // If nobody reads earlier output, the guest waits for room in its ring.
        const bool reads = !host_.is_full();
        std::vector<pollfd> waiting = {
            {.fd = reads ? events_.output.number() : -1, .events = POLLIN, .revents = 0},
            {.fd = events_.ended.number(), .events = POLLIN, .revents = 0},
            {.fd = ending_signals.number(), .events = POLLIN, .revents = 0}};
        const std::size_t of_counts = waiting.size();
        counts_clients_.add_wanted(waiting);
        const std::size_t of_host = waiting.size();
        host_.add_wanted(waiting, wants_keys());
        const int wait = !reads || output_.wait() ? milliseconds_to_wait() : 0;
        if (poll(waiting.data(), waiting.size(), wait) < 0 && errno != EINTR) {
            throw InputError("poll: " + std::generic_category().message(errno));
        }
        if (waiting[0].revents != 0) {
            eventfd_t count = 0;
            eventfd_read(events_.output.number(), &count);
        }
        if (reads) {
            relay_output();
        }
        if (waiting[1].revents != 0) {
            break;
        }
        if (waiting[2].revents != 0) {
            end_.ended_by = "a signal";
            break;
        }
        counts_clients_.polled(std::span(waiting).subspan(of_counts, of_host - of_counts));
        host_.polled(std::span(waiting).subspan(of_host));
        if (host_.typed_end()) {
            end_.ended_by = "Ctrl-]";
            break;
        }
        send_keys();
        look_at_clock();
    }
    relay_output();
    show(vmm_.release());
    end_.said_goodbye = watch_.said_goodbye();
    end_.panic = watch_.panic();
}

MachineEnd MonitoredConsole::deliver(const Descriptor& ending_signals) {
    host_.deliver(end_, ending_signals.number(), deadline());
    return end_;
}

bool MonitoredConsole::wants_keys() {
    return host_.may_type() &&
           prompt_wait_.over(Clock::now(), begin_, watch_.may_be_at_prompt(), host_.has_typist());
}

std::optional<MonitoredConsole::Clock::time_point> MonitoredConsole::deadline() const {
    if (options_.timeout <= 0) {
        return {};
    }
    return begin_ + std::chrono::ceil<Clock::duration>(std::chrono::duration<double>(options_.timeout));
}

bool MonitoredConsole::ending() const {
    return !watch_.panic().empty() || vmm_.end().has_value();
}

int MonitoredConsole::milliseconds_to_wait() const {
    double wait = -1; // for ever
    const auto at_most = [&](double limit) { wait = wait < 0 ? limit : std::min(wait, limit); };
    if (options_.timeout > 0) {
        at_most(std::max(options_.timeout - seconds(Clock::now() - begin_), 0.0) + 0.001);
    }
    const bool waits_for_prompt = host_.may_type() && !prompt_wait_.is_over();
    const bool may_hold_back = host_.has_person() && Clock::now() - last_output_at_ <= 2 * held_back_for;
    if (ending() || waits_for_prompt || may_hold_back || !host_.keys().empty()) {
        at_most(seconds(looks_every));
    }
    return static_cast<int>(std::min(wait * 1000, 1e6));
}

void MonitoredConsole::look_at_clock() {
    const auto now = Clock::now();
    if (options_.timeout > 0 && seconds(now - begin_) >= options_.timeout) {
        end_.timed_out = true;
        stop_ = true;
    }
    if (host_.has_person() && now - last_output_at_ > held_back_for) {
        show(vmm_.release());
    }
    if (ending()) {
        ending_since_ = ending_since_.value_or(now);
        stop_ = stop_ || now - *ending_since_ > ends_within;
    } else {
        ending_since_.reset();
    }
}

void MonitoredConsole::send_keys() {
    if (host_.keys().empty() || !prompt_wait_.is_over()) {
        return;
    }
    const std::size_t sent = input_.write(host_.keys());
    if (sent != 0) {
        host_.took_keys(sent);
        input_came_();
    }
}

void MonitoredConsole::relay_output() {
    const std::string text = output_.read();
    if (!text.empty()) {
        last_output_at_ = Clock::now();
        show(vmm_.read(text));
    }
}

void MonitoredConsole::show(std::string_view text) {
    if (text.empty()) {
        return;
    }
    watch_.read(text);
    prompt_wait_.heard(Clock::now());
    tail_ += text;
    tail_.erase(0, tail_.size() - std::min(tail_.size(), longest_tail));
    host_.show(text);
}

} // namespace previrt
