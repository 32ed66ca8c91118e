// SPDX-License-Identifier: BSD-2-Clause
#include "guest/agent/command_run.hpp"

#include "guest/agent/command.hpp"
#include "guest/agent/copy.hpp"
#include "guest/agent/kernel.hpp"
#include "guest/agent/messages.hpp"
#include "guest/agent/monitor_link.hpp"
#include "guest/agent/sessions.hpp"

#include <asm-generic/ioctls.h>
#include <asm-generic/mman-common.h>
#include <asm-generic/poll.h>
#include <asm/signal.h>

namespace previrt::agent {

namespace {

constexpr std::size_t room_bytes = 65536;
constexpr std::size_t input_room_bytes = 16384; // this machine's input is read ahead by as much
char input_room[input_room_bytes];
char output_room[room_bytes];
char error_room[room_bytes];

void* allocate(std::size_t bytes) {
    constexpr long kind = 0x22; // private, anonymous
    const long result = call(__NR_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE, kind, -1, 0);
    if (result < 0) {
        give_up("previrt: no memory for the command's arguments\n");
    }
    return reinterpret_cast<void*>(result);
}

// The texts of a start message, one after the other.
class Texts {
public:
    Texts(char* first, std::size_t bytes) : next_(first), end_(first + bytes) {}

    char* take() {
        char* const text = next_;
        while (next_ < end_ && *next_ != '\0') {
            ++next_;
        }
        if (next_ == end_) {
            give_up("previrt: the monitor's request is broken\n");
        }
        ++next_;
        return text;
    }
    void take(char** list, std::uint32_t count) {
        for (std::uint32_t i = 0; i < count; ++i) {
            list[i] = take();
        }
        list[count] = nullptr;
    }

private:
    char* next_;
    char* end_;
};

Request receive_request(int control) {
    MessageHeader header{};
    receive(control, &header, sizeof header);
    if (header.message != Message::start || header.bytes < sizeof(Start) || header.bytes > most_start_bytes) {
        give_up("previrt: the monitor has made no request\n");
    }
    auto* const message = static_cast<char*>(allocate(header.bytes));
    receive(control, message, header.bytes);
    Request request{};
    __builtin_memcpy(&request.start, message, sizeof request.start);
    const std::uint64_t texts = std::uint64_t{request.start.arguments} + request.start.variables;
    const std::uint64_t front =
        sizeof(Start) + (sizeof(SystemCall) * std::uint64_t{request.start.calls}) + request.start.data_bytes;
    if (request.start.arguments == 0 || texts > header.bytes || front > header.bytes) {
        give_up("previrt: the monitor's request is broken\n");
    }
    request.calls = reinterpret_cast<SystemCall*>(message + sizeof(Start));
    request.data = reinterpret_cast<char*>(request.calls + request.start.calls);
    // A place in front of the arguments: see Child::try_file.
    request.arguments = static_cast<char**>(allocate((texts + 3) * sizeof(char*))) + 1;
    request.environment = request.arguments + request.start.arguments + 1;
    Texts taken(message + front, header.bytes - front);
    request.directory = taken.take();
    taken.take(request.arguments, request.start.arguments);
    taken.take(request.environment, request.start.variables);
    return request;
}

class CommandRun {
public:
    CommandRun(const Streams& streams, std::uint32_t input_port, const Command& command,
               std::uint32_t terminals)
        : streams_(streams), command_(command), sessions_(streams.sessions) {
        const bool input_is_terminal = (terminals & 1U) != 0;
        const bool output_is_terminal = (terminals & 2U) != 0;
        const bool error_is_terminal = (terminals & 4U) != 0;
        input_.begin(begin_input(input_port), input_is_terminal ? command.terminal_input : command.input,
                     false, input_room, input_room_bytes);
        output_.begin(output_is_terminal ? command.terminal_output : command.output, streams.output, true,
                      output_room, room_bytes);
        const int shown = output_is_terminal ? -1 : command.terminal_output; // the terminal's output
        errors_.begin(error_is_terminal ? shown : command.errors, streams.errors, true, error_room,
                      room_bytes);
        const std::uint64_t child = std::uint64_t{1} << (SIGCHLD - 1U);
        constexpr long flags = 0x80800; // not blocking, close on exec
        signals_ = static_cast<int>(call(__NR_signalfd4, -1, address_of(&child), sizeof child, flags));
    }

    // Until the command has ended.
    MessageHeader run(End& end) {
        while (!has_ended_) {
            wait();
            reap();
        }
        output_.finish(written(output_.from()));
        errors_.finish(written(errors_.from()));
        const bool is_killed = (status_ & 0x7fU) != 0;
        end.value = is_killed ? status_ & 0x7fU : status_ >> 8U & 0xffU;
        return {.message = is_killed ? Message::killed : Message::exited, .bytes = sizeof end};
    }

private:
    void wait() {
        const Copy::Polls input = input_.wanted();
        const Copy::Polls output = output_.wanted();
        const Copy::Polls errors = errors_.wanted();
        pollfd waiting[] = {{.fd = signals_, .events = POLLIN, .revents = 0},
                            {.fd = streams_.control, .events = POLLIN, .revents = 0},
                            {.fd = sessions_, .events = POLLIN, .revents = 0},
                            {.fd = input.from, .events = input.from_events, .revents = 0},
                            {.fd = input.to, .events = input.to_events, .revents = 0},
                            {.fd = output.from, .events = output.from_events, .revents = 0},
                            {.fd = output.to, .events = output.to_events, .revents = 0},
                            {.fd = errors.from, .events = errors.from_events, .revents = 0},
                            {.fd = errors.to, .events = errors.to_events, .revents = 0}};
        if (call(__NR_poll, address_of(waiting), sizeof waiting / sizeof waiting[0], -1) < 0) {
            return;
        }
        if (waiting[1].revents != 0) {
            read_message();
        }
        if (waiting[2].revents != 0) {
            start_session(sessions_);
        }
        input_.polled(waiting[3].revents, waiting[4].revents);
        output_.polled(waiting[5].revents, waiting[6].revents);
        errors_.polled(waiting[7].revents, waiting[8].revents);
    }

    void read_message() const {
        MessageHeader header{};
        receive(streams_.control, &header, sizeof header);
        if (header.message == Message::signal && header.bytes == sizeof(Signal)) {
            Signal signal{};
            receive(streams_.control, &signal, sizeof signal);
            // Linux stops no process by SIGTSTP whose parent is the first process.
            const long number = signal.number == SIGTSTP ? SIGSTOP : static_cast<long>(signal.number);
            call(__NR_kill, signal.to_group != 0 ? -command_.process : command_.process, number);
        } else if (header.message == Message::window && header.bytes == sizeof(Window)) {
            Window window{};
            receive(streams_.control, &window, sizeof window);
            call(__NR_ioctl, command_.terminal, TIOCSWINSZ, address_of(&window));
        } else {
            leave();
        }
    }

    // Of the command, and of processes whose parent has ended.
    void reap() {
        char signal[128];
        call(__NR_read, signals_, address_of(signal), sizeof signal);
        constexpr long without_waiting = 1;
        std::uint32_t status = 0;
        long process = 0;
        while ((process = call(__NR_wait4, -1, address_of(&status), without_waiting)) > 0) {
            if (process == command_.process) {
                has_ended_ = true;
                status_ = status;
            }
        }
    }

    // Counts the bytes that the command has left in its pipe. Other processes may still write to it.
    [[nodiscard]] std::uint64_t written(int pipe) const {
        if (pipe == command_.terminal_output) {
            return room_bytes;
        }
        int bytes = 0;
        return call(__NR_ioctl, pipe, FIONREAD, address_of(&bytes)) == 0 ? static_cast<std::uint64_t>(bytes)
                                                                         : 0;
    }

    const Streams& streams_;
    const Command& command_;
    int sessions_;
    int signals_ = -1;
    Copy input_;
    Copy output_;
    Copy errors_;
    bool has_ended_ = false;
    std::uint32_t status_ = 0;
};

} // namespace

// The signal waits until the descriptor reads it.
void hold_child_signal() {
    const std::uint64_t child = std::uint64_t{1} << (SIGCHLD - 1U);
    call(__NR_rt_sigprocmask, SIG_BLOCK, address_of(&child), 0, sizeof child);
}

void run_command(const Streams& streams, std::uint32_t input_port) {
    const Request request = receive_request(streams.control);
    const Command command = start_command(request);
    End end{};
    MessageHeader header{.message = Message::not_started, .bytes = sizeof end};
    if (command.error != 0) {
        end.value = static_cast<std::uint32_t>(command.error);
    } else {
        hang_up_at_the_end(command.process);
        header = CommandRun(streams, input_port, command, request.start.terminals).run(end);
        hang_up_at_the_end(0);
    }
    call(__NR_sync); // the monitor learns of the end when files are safe
    send(streams.control, &header, sizeof header);
    send(streams.control, &end, sizeof end);
    // Linux sends packets by a thread of its own, which ends with the power. The monitor ends the stream once
    // it has all.
    char nothing = 0;
    receive(streams.control, &nothing, sizeof nothing);
}

} // namespace previrt::agent
