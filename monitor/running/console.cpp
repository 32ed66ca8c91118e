// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/running/console.hpp"

#include "host/ending_signals.hpp"
#include "host/input_error.hpp"
#include "monitor/console/output_pump.hpp"
#include "monitor/console/terminal.hpp"
#include "monitor/running/registry.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <iostream>
#include <optional>
#include <poll.h>
#include <string_view>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace previrt {

namespace {

class ShownConsole {
public:
    explicit ShownConsole(const std::string& name)
        : signals_(hold_ending_signals()),
          socket_(connect_to_guest(running_guest(name), ClientKind::console)), output_(STDOUT_FILENO) {}

    int run(const std::string& name) {
        output_.start();
        {
            const RawTerminal terminal;
            has_terminal_ = terminal.active();
            if (has_terminal_) {
                std::cerr << "previrt: the console of " << name << "; Ctrl-] leaves it\r\n";
            }
            while (!is_left_ && !has_guest_ended_) {
                wait();
            }
            deliver();
        }
        if (has_terminal_) {
            std::cerr << "previrt: " << (has_guest_ended_ ? name + " has ended" : "left " + name) << '\n';
        }
        if (!has_signal_ && output_.lost_bytes() != 0 && output_.error() != EPIPE) {
            std::cerr << "previrt: standard output: " << output_.lost_bytes()
                      << " bytes could not be written\n";
            return 1;
        }
        return has_signal_ ? 1 : 0;
    }

private:
    void wait() {
        const bool reads_input = !is_input_over_ && (has_terminal_ || keys_.empty());
        const int output_events = output_.is_full() ? 0 : POLLIN;
        const int key_events = keys_.empty() ? 0 : POLLOUT;
        std::array<pollfd, 4> waiting = {
            {{.fd = reads_input ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0},
             {.fd = socket_.number(),
              .events = static_cast<short>(output_events | key_events), // NOLINT(google-runtime-int)
              .revents = 0},
             {.fd = signals_.number(), .events = POLLIN, .revents = 0},
             output_.wanted()}};
        if (poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) {
            throw InputError("poll: " + std::generic_category().message(errno));
        }
        if (waiting[2].revents != 0) {
            is_left_ = has_signal_ = true;
            return;
        }
        output_.polled(waiting[3]);
        if (output_.error() != 0) {
            is_left_ = true; // nobody reads it any longer
            return;
        }
        if (waiting[0].revents != 0) {
            read_keys();
        }
        if ((waiting[1].revents & POLLOUT) != 0) {
            send_keys();
        }
        if ((waiting[1].revents & ~POLLOUT) != 0 && !output_.is_full()) {
            read_output();
        }
    }

    void read_keys() {
        std::array<char, 256> block{};
        const ssize_t got = read(STDIN_FILENO, block.data(), block.size());
        if (got <= 0) {
            is_input_over_ = got == 0 || (errno != EINTR && errno != EAGAIN);
            return;
        }
        std::string_view typed(block.data(), static_cast<std::size_t>(got));
        if (const std::size_t end = typed.find(end_guest_key);
            has_terminal_ && end != std::string_view::npos) {
            is_left_ = true;
            typed = typed.substr(0, end);
        }
        constexpr std::size_t most_keys = 4096; // that the guest has not taken; a person sees that it hangs
        keys_ += typed.substr(0, most_keys - std::min(most_keys, keys_.size()));
        send_keys();
    }

    void send_keys() {
        const ssize_t sent = send(socket_.number(), keys_.data(), keys_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent >= 0) {
            keys_.erase(0, static_cast<std::size_t>(sent));
        } else if (errno != EAGAIN && errno != EINTR) {
            keys_.clear(); // the other direction tells of the guest's end
        }
    }

    void read_output() {
        std::array<char, 65536> block{};
        const ssize_t got = recv(socket_.number(), block.data(), block.size(), MSG_DONTWAIT);
        if (got > 0) {
            output_.write({block.data(), static_cast<std::size_t>(got)});
        } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
            has_guest_ended_ = true;
        }
    }

    // A reader of standard output may be slow, or stop for ever: then a signal ends this.
    void deliver() {
        output_.end();
        while (!output_.is_over() && !has_signal_) {
            std::array<pollfd, 2> waiting = {
                {output_.wanted(), {.fd = signals_.number(), .events = POLLIN, .revents = 0}}};
            if (poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) {
                throw InputError("poll: " + std::generic_category().message(errno));
            }
            output_.polled(waiting[0]);
            has_signal_ = waiting[1].revents != 0;
        }
    }

    Descriptor signals_;
    Descriptor socket_;
    OutputPump output_;
    std::string keys_;
    bool has_terminal_ = false;
    bool is_input_over_ = false;
    bool is_left_ = false;
    bool has_signal_ = false;
    bool has_guest_ended_ = false;
};

} // namespace

int show_console(const std::string& name) {
    return ShownConsole(name).run(name);
}

} // namespace previrt
