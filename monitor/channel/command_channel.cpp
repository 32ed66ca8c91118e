// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/channel/command_channel.hpp"

#include "host/input_error.hpp"
#include "monitor/channel/command_signals.hpp"
#include "monitor/channel/start_message.hpp"
#include "monitor/guest/confinement.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace previrt {

namespace {

constexpr std::uint64_t guest_cid = 3; // the first that a guest may have
constexpr std::size_t most_waiting = std::size_t{1}
                                     << 16U; // bytes of signals; a guest that reads none gets no more
constexpr std::size_t end_bytes = sizeof(agent::MessageHeader) + sizeof(agent::End);

bool standard_streams_are_terminal() {
    return isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
}

std::uint32_t find_terminals() {
    std::uint32_t terminals = 0;
    if (standard_streams_are_terminal()) {
        for (unsigned number = 0; number < 3; ++number) {
            terminals |= isatty(static_cast<int>(number)) != 0 ? 1U << number : 0;
        }
    }
    return terminals;
}

agent::Window read_window() {
    winsize window{};
    ioctl(STDIN_FILENO, TIOCGWINSZ, &window);
    return {.rows = window.ws_row,
            .columns = window.ws_col,
            .width = window.ws_xpixel,
            .height = window.ws_ypixel};
}

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
    : options_(options), called_(make_event()), ended_(make_event()), given_up_(make_event()),
      has_terminal_(standard_streams_are_terminal()),
      to_guest_(make_start_message(options, find_terminals(), read_window())),
      control_(agent::control_port, [this](std::span<const std::uint8_t> bytes) { take_control(bytes); }),
      input_(agent::input_port, [this](std::span<const std::uint8_t>) { input_.close(); }),
      output_(agent::output_port, STDOUT_FILENO), errors_(agent::error_port, STDERR_FILENO) {
    if (find_terminals() == 7) {
        errors_.stream.close(); // standard error is the terminal
    }
}

void CommandChannel::describe(monitored::VsockStart& start) {
    start.guest_cid = guest_cid;
    start.is_there = true;
}

void CommandChannel::begin() {
    signals_ = hold_command_signals();
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

void CommandChannel::end() const {
    eventfd_write(ended_.number(), 1);
}

void CommandChannel::relay(monitored::PacketRing& sent, monitored::PacketRing& received,
                           const std::function<void()>& call_guest, pid_t group) {
    confine_command_thread(group);
    VsockEnd guest(guest_cid, sent, received, call_guest);
    for (GuestStream* const stream : {&control_, &input_, &output_.stream, &errors_.stream}) {
        guest.add(*stream);
    }
    bool lives = true;
    while (lives) {
        const bool goes_on = guest.receive();
        serve(guest);
        guest.finish();
        lives = wait(guest, goes_on);
    }
    while (guest.receive()) { // the guest's last packets
    }
    deliver();
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
        take_end(header.message, end.value);
        control_.end_sending(); // the guest waits for that
    }
}

void CommandChannel::take_end(agent::Message message, std::uint32_t value) {
    constexpr std::uint32_t most_status = 255;
    constexpr std::uint32_t last_signal = 64;
    constexpr std::uint32_t last_error = 4095;
    if (message == agent::Message::exited && value <= most_status) {
        end_.status = static_cast<std::uint8_t>(value);
    } else if (message == agent::Message::killed && value <= last_signal) {
        end_.status = static_cast<std::uint8_t>(command_killed + value);
    } else if (message == agent::Message::not_started && value <= last_error) {
        const bool is_missing = value == ENOENT || value == ENOTDIR;
        end_.status = is_missing ? command_not_found : command_not_executable;
        end_.failure = std::generic_category().message(static_cast<int>(value));
    } else {
        control_.close();
    }
}

bool CommandChannel::command_runs() const {
    return control_.is_open() && !end_.status;
}

void CommandChannel::take_signals() {
    signalfd_siginfo signal{};
    while (read(signals_.number(), &signal, sizeof signal) == static_cast<ssize_t>(sizeof signal)) {
        const auto number = static_cast<int>(signal.ssi_signo);
        if (number == SIGWINCH) {
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

CommandChannel::Polls CommandChannel::polls() const {
    const bool reads = input_is_open_ && input_has_room_ && input_.is_open();
    return {{{.fd = called_.number(), .events = POLLIN, .revents = 0},
             {.fd = ended_.number(), .events = POLLIN, .revents = 0},
             {.fd = signals_.number(), .events = POLLIN, .revents = 0},
             {.fd = reads ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0},
             output_.pump.wanted(),
             errors_.pump.wanted(),
             output_.watched(),
             errors_.watched()}};
}

void CommandChannel::polled(const Polls& polls) {
    if (polls[doorbell].revents != 0) {
        eventfd_t count = 0;
        eventfd_read(called_.number(), &count);
    }
    if (polls[signals].revents != 0) {
        take_signals();
    }
    input_is_ready_ = polls[input].revents != 0;
    output_.polled(polls[output], polls[output_gone]);
    errors_.polled(polls[errors], polls[errors_gone]);
}

// False: the guest has ended.
bool CommandChannel::wait(VsockEnd& guest, bool goes_on) {
    Polls waiting = polls();
    const int limit = goes_on || !guest.wait() ? 0 : -1;
    if (poll(waiting.data(), waiting.size(), limit) < 0 && errno != EINTR) {
        throw InputError("poll: " + std::generic_category().message(errno));
    }
    polled(waiting);
    return waiting[ended].revents == 0;
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
    while (!is_given_up_ && !(output_.is_delivered() && errors_.is_delivered())) {
        Polls waiting = polls();
        for (const Place none : {doorbell, ended, input, output_gone, errors_gone}) {
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

std::unique_ptr<CommandChannel> open_command_channel(const RunOptions& options) {
    return options.command.empty() ? nullptr : std::make_unique<CommandChannel>(options);
}

CommandThread command_thread(CommandChannel* channel, const CommandRings& rings,
                             std::function<void()> call_guest, pid_t group) {
    if (channel == nullptr) {
        return {};
    }
    return {.begin = [channel] { channel->begin(); },
            .run = [channel, rings, call = std::move(call_guest),
                    group] { channel->relay(rings.sent, rings.received, call, group); },
            .end = [channel] { channel->end(); },
            .finish = [channel] { channel->finish(); },
            .given_up = channel->given_up().number()};
}

} // namespace previrt
