// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/qemu/machine.hpp"

#include "host/ending_signals.hpp"
#include "host/input_error.hpp"
#include "host/program_file.hpp"
#include "monitor/console/host_console.hpp"
#include "monitor/console/prompt_wait.hpp"
#include "monitor/guest/isolation.hpp"
#include "monitor/qemu/machine_control.hpp"
#include "monitor/qemu/qemu.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <iostream>
#include <optional>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

namespace previrt {

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// QEMU 7.2 may hang if it is asked while it shuts down: it gets time to end unasked.
constexpr auto halt_question_after = 200ms;
constexpr auto halt_question_every = 100ms;
constexpr auto leaves_within = 500ms; // after its shutdown, when the console is silent
constexpr auto held_back_for = 300ms; // while a person waits for it

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
         "-machine", machine.type + ",accel=tcg", "-smp",
         std::to_string(machine.processors != 0 ? machine.processors : options.cpus)});
    add({"-m", std::to_string(machine.memory >> 20U), "-cpu",
         options.deterministic ? machine.deterministic_processor : machine.processor});
    if (options.deterministic) {
        add({"-icount", "shift=0,sleep=off", "-rtc", "base=2026-01-01T00:00:00,clock=vm"});
    }
    add({"-sandbox", qemu_sandbox});
    add(machine.qemu);
    return arguments;
}

class Machine {
public:
    Machine(const RunOptions& options, const MachineOptions& machine, SerialFilter* filter)
        : options_(options), machine_(machine), filter_(filter), console_(options) {}

    MachineEnd run() {
        signals_ = hold_ending_signals();
        start();
        console_.begin();
        {
            const std::optional<RawTerminal> terminal =
                options_.watch_console ? std::optional<RawTerminal>(std::in_place) : std::nullopt;
            if (terminal && terminal->active()) {
                console_.is_terminal();
            }
            relay();
            if (!over_) {
                kill(process_, SIGKILL);
            }
            end_.status = wait_for_program(process_);
            relay_rest();
            console_.deliver(end_, signals_.number(), guest_deadline());
        }
        while (control_.read()) { // the reason may be queued behind a long answer
        }
        std::ranges::for_each(machine_.channels, &SerialChannel::read);
        tell_failed_requests();
        end_.shutdown_reason = control_.shutdown_reason();
        end_.halted = control_.halted();
        end_.said_goodbye = watch_.said_goodbye();
        end_.panic = watch_.panic();
        return end_;
    }

private:
    void tell_failed_requests() const {
        for (const auto& [disk, failed] : control_.failed_requests()) {
            const auto file = machine_.disk_files.find(disk);
            std::cerr << "previrt: disk " << (file == machine_.disk_files.end() ? disk : file->second) << ": "
                      << failed.count << " requests of the guest failed; the first, a " << failed.first
                      << '\n';
        }
    }

    void start() {
        std::array<int, 2> ends{};
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
            throw InputError("socketpair: " + std::generic_category().message(errno));
        }
        Descriptor ours(ends[0]);
        const Descriptor theirs(ends[1]);
        Pipe keys = make_pipe();
        Pipe output = make_pipe();
        Program program{.arguments = qemu(options_, machine_, theirs.number()),
                        .directory = {},
                        .environment = {},
                        .rights = qemu_rights().rights,
                        .inherited = {theirs.number()}};
        for (const Descriptor& descriptor : machine_.handed_on) {
            program.inherited.push_back(descriptor.number());
        }
        process_ = start_program(program, {.input = keys.read.number(), .output = output.write.number()});
        control_.connect(std::move(ours));
        keys_ = std::move(keys.write);
        if (fcntl(keys_.number(), F_SETFL, O_NONBLOCK) != 0) {
            throw InputError("pipe: " + std::generic_category().message(errno));
        }
        output_ = std::move(output.read);
        begin_ = Clock::now();
    }

    // Until QEMU has closed the console, or the user, time or a signal ends it.
    void relay() {
        bool control_open = true;
        while (!stop_) {
            // If nobody reads earlier output, the whole machine is paused.
            const bool reads = !console_.is_full();
            let_run(reads);
            std::vector<pollfd> waiting = {
                {.fd = reads ? output_.number() : -1, .events = POLLIN, .revents = 0},
                {.fd = control_open ? control_.descriptor() : -1, .events = POLLIN, .revents = 0},
                {.fd = signals_.number(), .events = POLLIN, .revents = 0}};
            for (const SerialChannel* const channel : machine_.channels) {
                waiting.push_back({.fd = reads ? channel->descriptor() : -1, .events = POLLIN, .revents = 0});
            }
            const std::size_t of_machine = waiting.size();
            console_.add_wanted(waiting, takes_keys());
            if (poll(waiting.data(), waiting.size(), milliseconds_to_wait()) < 0 && errno != EINTR) {
                throw InputError("poll: " + std::generic_category().message(errno));
            }
            if (waiting[2].revents != 0) {
                end_.ended_by = "a signal";
                return;
            }
            if (waiting[1].revents != 0 && !control_.read()) {
                control_open = false; // the console ends next
            }
            console_.polled(std::span(waiting).subspan(of_machine));
            if (console_.typed_end()) {
                end_.ended_by = "Ctrl-]";
                return;
            }
            if (waiting[0].revents != 0 && !relay_output()) {
                over_ = true;
                show(filter_ == nullptr ? "" : filter_->release());
                return;
            }
            if (reads) {
                std::ranges::for_each(machine_.channels, &SerialChannel::read);
            }
            send_keys();
            look_at_clock();
        }
    }

    // The machine is paused until all its output has been read: a Xen in it does not wait for its serial
    // line, but drops the overflow of its buffer.
    void let_run(bool reads) {
        int unread = 0;
        const bool runs = reads && (runs_ || ioctl(output_.number(), FIONREAD, &unread) != 0 || unread == 0);
        if (runs != runs_) {
            runs_ = runs;
            control_.let_run(runs);
        }
    }

    // QEMU's output from before it was killed: at most what a pipe holds.
    void relay_rest() {
        if (!over_) {
            while (relay_output()) {
            }
            show(filter_ == nullptr ? "" : filter_->release());
        }
    }

    [[nodiscard]] bool takes_keys() {
        const auto now = Clock::now();
        if (!console_.may_type() || (filter_ != nullptr && !filter_->guest_is_there())) {
            return false;
        }
        guest_since_ = guest_since_.value_or(filter_ == nullptr ? begin_ : now);
        return prompt_wait_.over(now, *guest_since_, watch_.may_be_at_prompt(), console_.has_typist()) &&
               now - sent_at_ >= machine_.keys_every;
    }

    [[nodiscard]] bool ending() const {
        return !watch_.panic().empty() || (filter_ != nullptr && filter_->ending());
    }

    [[nodiscard]] std::optional<Clock::time_point> guest_deadline() const {
        if (options_.timeout <= 0) {
            return {};
        }
        const auto begin = is_beside_guest() ? guest_there_at_.value_or(begin_) : begin_;
        return begin + std::chrono::ceil<Clock::duration>(std::chrono::duration<double>(options_.timeout));
    }

    [[nodiscard]] bool is_beside_guest() const { return machine_.beside_guest.count() != 0; }

    // The time left for the machine.
    [[nodiscard]] double seconds_left(Clock::time_point now) const {
        return options_.timeout + seconds(machine_.beside_guest) - seconds(now - begin_);
    }

    [[nodiscard]] int milliseconds_to_wait() const {
        double wait = -1; // for ever
        const auto at_most = [&](double seconds) { wait = wait < 0 ? seconds : std::min(wait, seconds); };
        if (options_.timeout > 0) {
            at_most(std::max(seconds_left(Clock::now()), 0.0) + 0.001);
        }
        if (watch_.said_goodbye() || !control_.shutdown_reason().empty() || ending() ||
            (console_.may_type() && !prompt_wait_.is_over()) || filter_ != nullptr) {
            at_most(seconds(halt_question_every));
        }
        if (console_.may_type() && prompt_wait_.is_over() && Clock::now() - sent_at_ < machine_.keys_every) {
            at_most(seconds(machine_.keys_every));
        }
        if (!console_.keys().empty()) {
            at_most(seconds(halt_question_every));
        }
        return static_cast<int>(std::min(wait * 1000, 1e6));
    }

    void look_at_clock() {
        const auto now = Clock::now();
        if (options_.timeout > 0 && seconds_left(now) <= 0) {
            end_.timed_out = true;
            stop_ = true;
        }
        if (filter_ != nullptr) {
            if (console_.has_person() && now - last_output_at_ > held_back_for) {
                show(filter_->release());
            }
            stop_ = stop_ || filter_->over();
            if (filter_->guest_is_there()) {
                guest_there_at_ = guest_there_at_.value_or(now);
            }
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
        } else if (watch_.said_goodbye() && !is_beside_guest()) { // there another one judges the guest
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
        console_.show(text);
    }

    void send_keys() {
        const std::string_view keys = console_.keys().substr(0, machine_.keys_at_once);
        if (keys.empty() || !takes_keys()) {
            return;
        }
        const ssize_t sent = write(keys_.number(), keys.data(), keys.size());
        if (sent > 0) {
            sent_at_ = Clock::now();
            console_.took_keys(static_cast<std::size_t>(sent));
        } else if (sent < 0 && errno == EPIPE) {
            console_.took_keys(keys.size()); // QEMU is about to end
        }
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
    std::optional<Clock::time_point> guest_there_at_;
    std::optional<Clock::time_point> guest_since_; // from then on it may be typed to
    std::optional<Clock::time_point> goodbye_at_;
    Clock::time_point asked_at_; // whether it is halted
    std::optional<Clock::time_point> shut_down_at_;
    PromptWait prompt_wait_;
    Clock::time_point last_output_at_; // of the machine
    Clock::time_point sent_at_;
    std::optional<Clock::time_point> ending_since_;
    HostConsole console_;
    bool runs_ = true;
    bool over_ = false;
    bool stop_ = false;
};

} // namespace

std::string MachineOptions::hand_on_file(const std::string& path) {
    return name_of_inherited(handed_on.emplace_back(open_for_program(path, qemu_rights().rights)));
}

std::string MachineOptions::hand_on_bytes(std::span<const std::uint8_t> bytes) {
    Descriptor file(memfd_create("previrt-initrd", MFD_CLOEXEC));
    while (!bytes.empty()) {
        const ssize_t written = write(file.number(), bytes.data(), bytes.size());
        if (written <= 0) {
            throw InputError("memfd_create: " + std::generic_category().message(errno));
        }
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return name_of_inherited(handed_on.emplace_back(std::move(file)));
}

int MachineOptions::hand_on(Descriptor descriptor) {
    return handed_on.emplace_back(std::move(descriptor)).number();
}

MachineEnd run_machine(const RunOptions& options, const MachineOptions& machine, SerialFilter* filter) {
    judge_isolation(options, qemu_rights().missing);
    return Machine(options, machine, filter).run();
}

std::optional<RunStatus> judge_guest(const RunOptions& options, const MachineEnd& end) {
    if (end.lost_keys != 0) {
        std::cerr << "previrt: the guest did not read all typed keys: " << end.lost_keys
                  << " bytes are lost\n";
    }
    if (end.timed_out) {
        std::cerr << "previrt: the guest did not end within " << options.timeout << " s"
                  << (end.lost_output != 0 ? "; or nobody read its last output" : "") << '\n';
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
    if (end.output_error != 0 && end.output_error != EPIPE) { // at EPIPE the reader has gone
        std::cerr << "previrt: standard output: " << std::generic_category().message(end.output_error) << ": "
                  << end.lost_output << " bytes of the guest's output are lost\n";
        return guest_failed;
    }
    return std::nullopt;
}

} // namespace previrt
