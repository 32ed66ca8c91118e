// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/running/session.hpp"

#include "guest/agent/messages.hpp"
#include "host/input_error.hpp"
#include "host/passed_descriptors.hpp"
#include "monitor/channel/command_signals.hpp"
#include "monitor/channel/command_terminal.hpp"
#include "monitor/channel/start_message.hpp"
#include "monitor/console/terminal.hpp"
#include "monitor/options.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <poll.h>
#include <span>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

namespace previrt {

namespace {

constexpr std::size_t room_bytes = 65536;
constexpr int seconds_to_start = 60;
constexpr std::size_t most_control_bytes = 64;
constexpr std::size_t most_waiting = std::size_t{8} << 20U; // bytes for the guest, a start message among them
constexpr const char* no_further_command =
    "the guest's monitor takes no further command: it serves 64 at once";

struct SocketPair {
    Descriptor ours;
    Descriptor monitors;
};

SocketPair make_sockets() {
    std::array<int, 2> numbers{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, numbers.data()) != 0) {
        throw InputError("socketpair: " + std::generic_category().message(errno));
    }
    return {.ours = Descriptor(numbers[0]), .monitors = Descriptor(numbers[1])};
}

// One byte, and the sockets of the command's input, output and errors: see GuestSessions.
void greet(const Descriptor& monitor, const std::array<int, 3>& sockets) {
    constexpr std::array<std::uint8_t, 1> byte{};
    if (!send_with_descriptors(monitor.number(), byte, sockets)) {
        throw InputError(no_further_command);
    }
}

bool write_all(int descriptor, std::span<const char> bytes) {
    while (!bytes.empty()) {
        const ssize_t written = write(descriptor, bytes.data(), bytes.size());
        if (written < 0 && errno == EAGAIN) { // another program has chosen this mode
            pollfd waiting{.fd = descriptor, .events = POLLOUT, .revents = 0};
            poll(&waiting, 1, -1);
        } else if (written < 0 && errno != EINTR) {
            return false;
        } else if (written > 0) {
            bytes = bytes.subspan(static_cast<std::size_t>(written));
        }
    }
    return true;
}

// Until its end. The command learns of the end of a reader at once, as it would by its own descriptor.
void copy_output(int socket, int to) {
    std::array<char, room_bytes> room{};
    for (;;) {
        std::array<pollfd, 2> waiting{
            {{.fd = socket, .events = POLLIN, .revents = 0}, {.fd = to, .events = 0, .revents = 0}}};
        poll(waiting.data(), waiting.size(), -1);
        if (waiting[0].revents == 0 && waiting[1].revents == 0) {
            continue;
        }
        const ssize_t got = waiting[0].revents != 0 ? read(socket, room.data(), room.size()) : 0;
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0 || !write_all(to, {room.data(), static_cast<std::size_t>(got)})) {
            shutdown(socket, SHUT_RDWR);
            return;
        }
    }
}

void copy_input(int from, int socket) {
    std::array<char, room_bytes> room{};
    for (;;) {
        const ssize_t got = read(from, room.data(), room.size());
        if (got < 0 && errno == EAGAIN) {
            pollfd waiting{.fd = from, .events = POLLIN, .revents = 0};
            poll(&waiting, 1, -1);
        } else if (got < 0 && errno == EINTR) {
            continue;
        } else if (got <= 0 || !write_all(socket, {room.data(), static_cast<std::size_t>(got)})) {
            shutdown(socket, SHUT_WR);
            return;
        }
    }
}

// A thread that copies to or from a socket. It may wait for ever: this process ends without it. So it has a
// descriptor of its own.
class Copying {
public:
    Copying() = default;
    Copying(const Descriptor& socket, const std::function<void(int socket)>& copy) {
        struct Ends {
            Descriptor socket;
            Descriptor over;
        };
        Pipe over = make_pipe();
        is_over_ = std::move(over.read);
        const auto ends = std::make_shared<Ends>(
            Ends{.socket = Descriptor(dup(socket.number())), .over = std::move(over.write)});
        std::thread([copy, ends] {
            copy(ends->socket.number());
            ends->over.close();
        }).detach();
    }
    // For poll(): an event is its end. -1: it has ended.
    [[nodiscard]] int descriptor() const { return is_over_.number(); }
    void forget() { is_over_.close(); }

private:
    Descriptor is_over_;
};

class Session {
public:
    Session(const SessionOptions& options, Descriptor monitor)
        : options_(options),
          signals_(hold_signals(options.process != nullptr ? container_signals() : command_signals)),
          has_terminal_(options.input == 0 && options.output == 1 && has_terminal(options.process)),
          control_(std::move(monitor)) {}

    int run() {
        RunOptions request;
        request.command = options_.command;
        request.environment = options_.environment;
        request.process = options_.process;
        const std::uint32_t terminals = has_terminal_ ? find_terminals(options_.process) : 0;
        to_guest_ = make_start_message(request, terminals, read_window());
        connect();
        std::optional<RawTerminal> terminal;
        if (has_terminal_) {
            terminal.emplace();
        }
        const bool has_errors = (terminals & 4U) == 0; // else standard error is the terminal
        start_copies(has_errors);
        while (failure_.empty() && !is_given_up_ && !(end_.status && has_all_output())) {
            wait();
        }
        terminal.reset();
        return judge();
    }

private:
    void connect() {
        SocketPair input = make_sockets();
        SocketPair output = make_sockets();
        SocketPair errors = make_sockets();
        greet(control_, {input.monitors.number(), output.monitors.number(), errors.monitors.number()});
        input_ = std::move(input.ours);
        output_ = std::move(output.ours);
        errors_ = std::move(errors.ours);
    }

    void start_copies(bool has_errors) {
        input_copy_ = Copying(input_, [from = options_.input](int socket) { copy_input(from, socket); });
        output_copy_ = Copying(output_, [to = options_.output](int socket) { copy_output(socket, to); });
        if (has_errors) {
            errors_copy_ = Copying(errors_, [to = options_.errors](int socket) { copy_output(socket, to); });
        }
        // The threads have them. The end of one is then the end of its socket.
        for (Descriptor* const socket : {&input_, &output_, &errors_}) {
            socket->close();
        }
    }

    [[nodiscard]] bool has_all_output() const {
        return output_copy_.descriptor() < 0 && errors_copy_.descriptor() < 0;
    }

    void wait() {
        const auto control_events = static_cast<short>(POLLIN | (to_guest_.empty() ? 0 : POLLOUT));
        std::array<pollfd, 4> waiting{
            {{.fd = end_.status ? -1 : control_.number(), .events = control_events, .revents = 0},
             {.fd = signals_.number(), .events = POLLIN, .revents = 0},
             {.fd = output_copy_.descriptor(), .events = 0, .revents = 0},
             {.fd = errors_copy_.descriptor(), .events = 0, .revents = 0}}};
        constexpr int milliseconds = 1000;
        const int limit = is_connected_ ? -1 : seconds_to_start * milliseconds;
        if (poll(waiting.data(), waiting.size(), limit) == 0) {
            failure_ = "its agent has not answered for " + std::to_string(seconds_to_start) +
                       " s: the guest is not up, or its kernel lacks CONFIG_VIRTIO_VSOCKETS=y";
        }
        if (waiting[1].revents != 0) {
            take_signals();
        }
        if (waiting[2].revents != 0) {
            output_copy_.forget();
        }
        if (waiting[3].revents != 0) {
            errors_copy_.forget();
        }
        if ((waiting[0].revents & POLLOUT) != 0) {
            send_control();
        }
        if ((waiting[0].revents & ~POLLOUT) != 0) {
            receive_control();
        }
    }

    void send_control() {
        const ssize_t sent =
            send(control_.number(), to_guest_.data(), to_guest_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent >= 0) {
            to_guest_.erase(0, static_cast<std::size_t>(sent));
        } else if (errno != EAGAIN && errno != EINTR) {
            to_guest_.clear(); // the other direction says why
        }
    }

    // Two messages at most, and nothing behind them.
    void receive_control() {
        std::array<char, most_control_bytes> room{};
        const ssize_t got = recv(control_.number(), room.data(), room.size(), MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        from_guest_.append(room.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        while (failure_.empty() && !end_.status && take_message()) {
        }
        if (end_.status) {
            shutdown(control_.number(), SHUT_WR); // the agent waits for that
        } else if (got <= 0 && failure_.empty()) {
            failure_ = is_connected_ ? "the guest ended before the command" : no_further_command;
        }
    }

    // False: the rest of it has not come.
    bool take_message() {
        agent::MessageHeader header{};
        agent::End end{};
        if (from_guest_.size() < sizeof header) {
            return false;
        }
        std::memcpy(&header, from_guest_.data(), sizeof header);
        if (header.message == agent::Message::connected && header.bytes == 0 && !is_connected_) {
            is_connected_ = true;
            from_guest_.erase(0, sizeof header);
            return true;
        }
        if (header.bytes == sizeof end && from_guest_.size() < sizeof header + sizeof end) {
            return false;
        }
        if (header.bytes == sizeof end) {
            std::memcpy(&end, from_guest_.data() + sizeof header, sizeof end);
        }
        if (header.bytes != sizeof end || !end_.take(header.message, end.value)) {
            failure_ = "its agent breaks the rules";
        }
        return false;
    }

    void take_signals() {
        signalfd_siginfo signal{};
        while (read(signals_.number(), &signal, sizeof signal) == static_cast<ssize_t>(sizeof signal)) {
            const auto number = static_cast<int>(signal.ssi_signo);
            if (is_connected_ && !end_.status) {
                pass_on(signal);
            } else if (number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT) {
                // The command does not run yet, or nobody reads its last output.
                end_.status = static_cast<std::uint8_t>(command_killed + number);
                is_given_up_ = true;
            }
        }
    }

    // A guest that reads none gets no more.
    void pass_on(const signalfd_siginfo& signal) {
        if (to_guest_.size() >= most_waiting) {
            return;
        }
        if (signal.ssi_signo != SIGWINCH || (options_.process != nullptr && !has_terminal_)) {
            to_guest_ += make_message(agent::Message::signal,
                                      agent::Signal{.number = signal.ssi_signo,
                                                    .to_group = signal.ssi_code == SI_KERNEL ? 1U : 0U});
        } else if (has_terminal_) {
            to_guest_ += make_message(agent::Message::window, read_window());
        }
    }

    [[nodiscard]] int judge() const {
        if (end_.status) {
            if (!end_.failure.empty()) {
                std::cerr << "previrt: " << end_.describe_failure(options_.command.front(), options_.process)
                          << '\n';
            }
            return *end_.status;
        }
        std::cerr << "previrt: " << options_.name << ": " << failure_ << '\n';
        return command_failed;
    }

    const SessionOptions& options_;
    Descriptor signals_;
    bool has_terminal_;
    Descriptor control_;
    Descriptor input_;
    Descriptor output_;
    Descriptor errors_;
    Copying input_copy_;
    Copying output_copy_;
    Copying errors_copy_;
    std::string to_guest_;
    std::string from_guest_;
    bool is_connected_ = false;
    bool is_given_up_ = false;
    CommandEnd end_;
    std::string failure_;
};

} // namespace

namespace {

// Its run may be about to choose the guest's place.
RunningGuest await_place(const std::string& name) {
    constexpr int tries = 600;
    constexpr auto tenth = std::chrono::milliseconds(100);
    RunningGuest guest = running_guest(name);
    for (int i = 0; i < tries && guest.place.empty(); ++i) {
        std::this_thread::sleep_for(tenth);
        guest = running_guest(name);
    }
    return guest;
}

} // namespace

int run_in_guest(const SessionOptions& options) {
    const RunningGuest guest = await_place(options.name);
    if (!guest.takes_commands) {
        throw InputError(options.name +
                         ": this guest takes no commands. One does that is run by process or kvm with "
                         "--root or a command");
    }
    return run_by_monitor(options, connect_to_guest(guest, ClientKind::session));
}

int run_by_monitor(const SessionOptions& options, Descriptor monitor) {
    return Session(options, std::move(monitor)).run();
}

} // namespace previrt
