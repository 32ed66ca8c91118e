// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/channel/command_channel.hpp"

#include "host/input_error.hpp"
#include "monitor/channel/command_signals.hpp"
#include "monitor/channel/command_terminal.hpp"
#include "monitor/channel/start_message.hpp"
#include "monitor/guest/guest_threads.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <system_error>
#include <unistd.h>

namespace previrt {

namespace {

constexpr std::size_t most_waiting = std::size_t{1}
                                     << 16U; // bytes of signals; a guest that reads none gets no more
constexpr std::size_t end_bytes = sizeof(agent::MessageHeader) + sizeof(agent::End);

bool ends_a_run(int number) {
    return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

} // namespace

CommandChannel::Output::Output(std::uint32_t port, int to)
    : stream(port,
             [this](std::span<const std::uint8_t> bytes) {
                 pump.write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
                 stream.keep(pump.held_bytes());
             }),
      pump(to), descriptor(to) {}

// The reader's end: the command learns of it at once, as it would by its own descriptor.
pollfd CommandChannel::Output::watched() const {
    return {.fd = stream.is_open() ? descriptor : -1, .events = 0, .revents = 0};
}

void CommandChannel::Output::polled(const pollfd& pump_poll, const pollfd& gone) {
    pump.polled(pump_poll);
    stream.keep(pump.held_bytes());
    if (gone.revents != 0 || pump.error() != 0) {
        stream.close();
    }
}

CommandChannel::CommandChannel(const RunOptions& options)
    : options_(options), given_up_(make_event()), has_terminal_(has_terminal(options.process)),
      to_guest_(make_start_message(options, find_terminals(options.process), read_window())),
      control_(agent::control_port, [this](std::span<const std::uint8_t> bytes) { take_control(bytes); }),
      input_(agent::input_port, [this](std::span<const std::uint8_t>) { input_.close(); }),
      output_(agent::output_port, STDOUT_FILENO), errors_(agent::error_port, STDERR_FILENO) {
    if (find_terminals(options.process) == 7) {
        errors_.stream.close(); // standard error is the terminal
    }
}

void CommandChannel::begin() {
    signals_ = hold_signals(options_.process != nullptr ? container_signals() : command_signals);
    if (has_terminal_) {
        terminal_.emplace();
    }
    if (options_.timeout > 0) {
        deadline_ = Clock::now() +
                    std::chrono::ceil<Clock::duration>(std::chrono::duration<double>(options_.timeout));
    }
    output_.pump.start();
    errors_.pump.start();
}

void CommandChannel::join(VsockEnd& guest) {
    for (GuestStream* const stream : {&control_, &input_, &output_.stream, &errors_.stream}) {
        guest.add(*stream);
    }
}

void CommandChannel::serve(VsockEnd& guest) {
    send_control(guest);
    read_input(guest);
}

void CommandChannel::send_control(VsockEnd& guest) {
    while (!to_guest_.empty()) {
        const std::span<std::uint8_t> room = guest.room(control_);
        if (room.empty()) {
            return;
        }
        const std::size_t bytes = std::min(room.size(), to_guest_.size());
        std::memcpy(room.data(), to_guest_.data(), bytes);
        guest.send(control_, static_cast<std::uint32_t>(bytes));
        to_guest_.erase(0, bytes);
    }
}

// Directly into the ring, and only as much as the guest has room for.
void CommandChannel::read_input(VsockEnd& guest) {
    if (!input_is_open_ || !input_.is_read()) {
        input_has_room_ = false;
        return;
    }
    const std::span<std::uint8_t> room = guest.room(input_);
    input_has_room_ = !room.empty();
    if (!input_has_room_ || !input_is_ready_) {
        return;
    }
    input_is_ready_ = false;
    const ssize_t got = read(STDIN_FILENO, room.data(), room.size());
    if (got > 0) {
        guest.send(input_, static_cast<std::uint32_t>(got));
    } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
        input_is_open_ = false;
        input_.end_sending();
    }
}

// One message, and nothing behind it.
void CommandChannel::take_control(std::span<const std::uint8_t> bytes) {
    from_guest_.append(reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), end_bytes + 1));
    if (from_guest_.size() > end_bytes || end_.status) {
        control_.close();
        return;
    }
    if (from_guest_.size() == end_bytes) {
        agent::MessageHeader header{};
        agent::End end{};
        std::memcpy(&header, from_guest_.data(), sizeof header);
        std::memcpy(&end, from_guest_.data() + sizeof header, sizeof end);
        if (end_.take(header.message, end.value)) {
            control_.end_sending(); // the guest waits for that
        } else {
            control_.close();
        }
    }
}

bool CommandChannel::command_runs() const {
    return control_.is_open() && !end_.status;
}

void CommandChannel::take_signals() {
    signalfd_siginfo signal{};
    while (read(signals_.number(), &signal, sizeof signal) == static_cast<ssize_t>(sizeof signal)) {
        const auto number = static_cast<int>(signal.ssi_signo);
        if (number == SIGWINCH && (has_terminal_ || options_.process == nullptr)) {
            if (has_terminal_ && command_runs()) {
                to_guest_ += make_message(agent::Message::window, read_window());
            }
        } else if (command_runs()) {
            // The kernel itself sends those of a terminal, to all processes of the group in front.
            pass_on(number, signal.ssi_code == SI_KERNEL);
        } else if (ends_a_run(number)) {
            give_up(number);
        }
    }
}

void CommandChannel::pass_on(int number, bool to_group) {
    if (to_guest_.size() < most_waiting) {
        to_guest_ +=
            make_message(agent::Message::signal, agent::Signal{.number = static_cast<std::uint32_t>(number),
                                                               .to_group = to_group ? 1U : 0U});
    }
}

// The command does not run yet, or its last output is not read: nobody but the run can end.
void CommandChannel::give_up(int signal) {
    is_given_up_ = true;
    end_.status = static_cast<std::uint8_t>(command_killed + signal);
    eventfd_write(given_up_.number(), 1);
}

void CommandChannel::watch(std::vector<pollfd>& polls) const {
    const bool reads = input_is_open_ && input_has_room_ && input_.is_open();
    polls.insert(polls.end(), {{.fd = signals_.number(), .events = POLLIN, .revents = 0},
                               {.fd = reads ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0},
                               output_.pump.wanted(),
                               errors_.pump.wanted(),
                               output_.watched(),
                               errors_.watched()});
}

void CommandChannel::polled(std::span<const pollfd> polls) {
    if (polls[signals].revents != 0) {
        take_signals();
    }
    input_is_ready_ = polls[input].revents != 0;
    output_.polled(polls[output], polls[output_gone]);
    errors_.polled(polls[errors], polls[errors_gone]);
}

int CommandChannel::milliseconds_left() const {
    if (!deadline_) {
        return -1;
    }
    constexpr std::int64_t longest = 1'000'000;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline_ - Clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, longest));
}

// A reader may take its time, until the run's is over or a signal ends it.
void CommandChannel::deliver() {
    output_.pump.end();
    errors_.pump.end();
    std::vector<pollfd> waiting;
    while (!is_given_up_ && !(output_.is_delivered() && errors_.is_delivered())) {
        waiting.clear();
        watch(waiting);
        for (const Place none : {input, output_gone, errors_gone}) {
            waiting.at(none).fd = -1;
        }
        const int left = milliseconds_left();
        if (left == 0) {
            end_.timed_out = true;
            return;
        }
        if (poll(waiting.data(), waiting.size(), left) < 0 && errno != EINTR) {
            throw InputError("poll: " + std::generic_category().message(errno));
        }
        polled(waiting);
    }
}

} // namespace previrt
