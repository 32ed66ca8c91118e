// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/run/machine.hpp"

#include "toolchain/host/program.hpp"
#include "toolchain/image/input_error.hpp"
#include "toolchain/run/ending_signals.hpp"
#include "toolchain/run/machine_control.hpp"
#include "toolchain/run/prompt_wait.hpp"
#include "toolchain/run/qemu.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <iostream>
#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

namespace previrt {

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// QEMU 7.2 that is asked while it shuts down may never leave: it is given time to do so unasked.
constexpr auto halt_question_after = 200ms;
constexpr auto halt_question_every = 100ms;
constexpr auto leaves_within = 500ms; // once it shut down and the console is silent
constexpr auto held_back_for = 300ms; // where a person waits for it

double seconds(std::chrono::duration<double> duration) {
    return duration.count();
}

std::vector<std::string> qemu(const RunOptions& options, const MachineOptions& machine, int control) {
    std::vector<std::string> arguments = {qemu_program, "-nodefaults", "-no-reboot"};
    const auto add = [&](const std::vector<std::string>& more) {
        arguments.insert(arguments.end(), more.begin(), more.end());
    };
    add({"-display", "none", "-serial", "stdio", "-chardev",
         "socket,id=control,fd=" + std::to_string(control), "-mon", "chardev=control,mode=control",
         "-machine", machine.type + ",accel=tcg", "-smp", std::to_string(options.cpus)});
    add({"-m", std::to_string(machine.memory >> 20U), "-cpu",
         options.deterministic ? machine.deterministic_processor : machine.processor});
    if (options.deterministic) {
        add({"-icount", "shift=0,sleep=off", "-rtc", "base=2026-01-01T00:00:00,clock=vm"});
    }
    add(machine.qemu);
    return arguments;
}

class Machine {
public:
    Machine(const RunOptions& options, const MachineOptions& machine, SerialFilter* filter)
        : options_(options), machine_(machine), filter_(filter) {}

    MachineEnd run() {
        signals_ = hold_ending_signals();
        start();
        {
            const std::optional<RawTerminal> terminal =
                options_.watch_console ? std::optional<RawTerminal>(std::in_place) : std::nullopt;
            terminal_ = terminal && terminal->active();
            relay();
        }
        if (!over_) {
            kill(process_, SIGKILL);
        }
        end_.status = wait_for_program(process_);
        while (control_.read()) { // why it ended may be queued behind a long answer
        }
        std::ranges::for_each(machine_.channels, &SerialChannel::read);
        end_.shutdown_reason = control_.shutdown_reason();
        end_.halted = control_.halted();
        end_.said_goodbye = watch_.said_goodbye();
        end_.panic = watch_.panic();
        return end_;
    }

private:
    void start() {
        std::array<int, 2> ends{};
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
            throw InputError("socketpair: " + std::generic_category().message(errno));
        }
        Descriptor ours(ends[0]);
        const Descriptor theirs(ends[1]);
        Pipe keys = make_pipe();
        Pipe output = make_pipe();
        process_ = start_program({.arguments = qemu(options_, machine_, theirs.number()),
                                  .directory = machine_.directory,
                                  .environment = {}},
                                 {.input = keys.read.number(),
                                  .output = output.write.number(),
                                  .error = STDERR_FILENO,
                                  .inherited = {theirs.number()}});
        control_.connect(std::move(ours));
        keys_ = std::move(keys.write);
        output_ = std::move(output.read);
        begin_ = Clock::now();
    }

    // Until QEMU has closed the console, or we have had enough.
    void relay() {
        bool input_open = options_.watch_console;
        bool control_open = true;
        while (!stop_) {
            std::vector<pollfd> waiting = {
                {.fd = output_.number(), .events = POLLIN, .revents = 0},
                {.fd = control_open ? control_.descriptor() : -1, .events = POLLIN, .revents = 0},
                {.fd = input_open && ready_for_keys() ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0},
                {.fd = signals_.number(), .events = POLLIN, .revents = 0}};
            for (const SerialChannel* const channel : machine_.channels) {
                waiting.push_back({.fd = channel->descriptor(), .events = POLLIN, .revents = 0});
            }
            if (poll(waiting.data(), waiting.size(), milliseconds_to_wait(input_open)) < 0 &&
                errno != EINTR) {
                throw InputError("poll: " + std::generic_category().message(errno));
            }
            if (waiting[3].revents != 0) {
                end_.ended_by = "a signal";
                return;
            }
            if (waiting[1].revents != 0 && !control_.read()) {
                control_open = false; // the console ends next
            }
            if (waiting[2].revents != 0) {
                input_open = relay_keys();
            }
            if (waiting[0].revents != 0 && !relay_output()) {
                over_ = true;
                show(filter_ == nullptr ? "" : filter_->release());
                return;
            }
            std::ranges::for_each(machine_.channels, &SerialChannel::read);
            look_at_clock();
        }
    }

    [[nodiscard]] bool ready_for_keys() {
        const auto now = Clock::now();
        if (filter_ != nullptr && !filter_->guest_is_there()) {
            return false;
        }
        guest_since_ = guest_since_.value_or(filter_ == nullptr ? begin_ : now);
        return prompt_wait_.over(now, *guest_since_, watch_.in_a_line(), terminal_) &&
               now - sent_at_ >= machine_.keys_every;
    }

    [[nodiscard]] bool ending() const {
        return !watch_.panic().empty() || (filter_ != nullptr && filter_->ending());
    }

    [[nodiscard]] int milliseconds_to_wait(bool input_open) const {
        double wait = -1; // for ever
        const auto at_most = [&](double seconds) { wait = wait < 0 ? seconds : std::min(wait, seconds); };
        if (options_.timeout > 0) {
            at_most(std::max(options_.timeout - seconds(Clock::now() - begin_), 0.0) + 0.001);
        }
        if (watch_.said_goodbye() || !control_.shutdown_reason().empty() || ending() ||
            (input_open && !prompt_wait_.is_over()) || filter_ != nullptr) {
            at_most(seconds(halt_question_every));
        }
        if (input_open && prompt_wait_.is_over() && Clock::now() - sent_at_ < machine_.keys_every) {
            at_most(seconds(machine_.keys_every));
        }
        return static_cast<int>(std::min(wait * 1000, 1e6));
    }

    void look_at_clock() {
        const auto now = Clock::now();
        if (options_.timeout > 0 && seconds(now - begin_) >= options_.timeout) {
            end_.timed_out = true;
            stop_ = true;
        }
        if (filter_ != nullptr) {
            if (terminal_ && now - last_output_at_ > held_back_for) {
                show(filter_->release());
            }
            stop_ = stop_ || filter_->over();
        }
        if (ending()) {
            ending_since_ = ending_since_.value_or(now);
            stop_ = stop_ || now - *ending_since_ > machine_.ends_within;
        } else {
            ending_since_.reset();
        }
        if (!control_.shutdown_reason().empty()) {
            shut_down_at_ = shut_down_at_.value_or(now);
            stop_ = stop_ || now - std::max(*shut_down_at_, last_output_at_) > leaves_within;
        } else if (watch_.said_goodbye()) {
            goodbye_at_ = goodbye_at_.value_or(now);
            stop_ = stop_ || control_.halted();
            if (now - *goodbye_at_ >= halt_question_after && now - asked_at_ >= halt_question_every) {
                asked_at_ = now;
                control_.ask_if_halted();
            }
        }
    }

    bool relay_output() {
        std::array<char, 4096> block{};
        const ssize_t got = read(output_.number(), block.data(), block.size());
        if (got <= 0) {
            return false;
        }
        const std::string_view text(block.data(), static_cast<std::size_t>(got));
        last_output_at_ = Clock::now();
        if (filter_ == nullptr) {
            show(text);
        } else {
            show(filter_->read(text));
        }
        return true;
    }

    void show(std::string_view text) {
        if (text.empty()) {
            return;
        }
        watch_.read(text);
        prompt_wait_.heard(Clock::now());
        if (options_.watch_console) {
            std::cout << text << std::flush;
        } else {
            options_.console(text);
        }
    }

    bool relay_keys() {
        std::array<char, 256> block{};
        const ssize_t got = read(STDIN_FILENO, block.data(), std::min(block.size(), machine_.keys_at_once));
        if (got <= 0) {
            return false;
        }
        const std::string_view keys(block.data(), static_cast<std::size_t>(got));
        if (terminal_ && keys.find(end_guest_key) != std::string_view::npos) {
            end_.ended_by = "Ctrl-]";
            stop_ = true;
            return false;
        }
        sent_at_ = Clock::now();
        return write(keys_.number(), keys.data(), keys.size()) == got;
    }

    const RunOptions& options_;
    const MachineOptions& machine_;
    SerialFilter* filter_;
    MachineEnd end_;
    pid_t process_ = -1;
    MachineControl control_;
    Descriptor keys_;
    Descriptor output_;
    Descriptor signals_;
    ConsoleWatch watch_;
    Clock::time_point begin_;
    std::optional<Clock::time_point> guest_since_;
    std::optional<Clock::time_point> goodbye_at_;
    Clock::time_point asked_at_; // whether it is halted
    std::optional<Clock::time_point> shut_down_at_;
    PromptWait prompt_wait_;
    Clock::time_point last_output_at_; // the machine's
    Clock::time_point sent_at_;
    std::optional<Clock::time_point> ending_since_;
    bool terminal_ = false;
    bool over_ = false;
    bool stop_ = false;
};

} // namespace

MachineEnd run_machine(const RunOptions& options, const MachineOptions& machine, SerialFilter* filter) {
    return Machine(options, machine, filter).run();
}

std::optional<RunStatus> judge_guest(const RunOptions& options, const MachineEnd& end) {
    if (end.timed_out) {
        std::cerr << "previrt: the guest did not end within " << options.timeout << " s\n";
        return run_timed_out;
    }
    if (!end.panic.empty()) {
        std::cerr << "previrt: the guest failed: " << end.panic << '\n';
        return guest_failed;
    }
    if (!end.ended_by.empty()) {
        std::cerr << "\nprevirt: ended by " << end.ended_by << '\n';
        return guest_failed;
    }
    return std::nullopt;
}

} // namespace previrt
