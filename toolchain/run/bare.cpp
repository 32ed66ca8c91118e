// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/run/bare.hpp"

#include "toolchain/host/program.hpp"
#include "toolchain/image/input_error.hpp"
#include "toolchain/run/console.hpp"
#include "toolchain/run/machine_control.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <iostream>
#include <optional>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

namespace previrt {

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto halt_question_every = 100ms;
constexpr auto reset_after_panic_within = 3s;
// What comes from a file or a program, not from a person, waits for the guest to ask: a UART that is being
// set up drops it.
constexpr auto prompt_is_silent_for = 200ms;
constexpr auto longest_wait_for_prompt = 15s;

// These end the guest, and us in order: the terminal gets its mode back.
constexpr std::array<int, 3> ending_signals = {SIGINT, SIGTERM, SIGHUP};

// One of QEMU's processors has rep string instructions whose every iteration counts as an instruction; random
// numbers of the host; and SMAP, which Xen's peers cannot have: not where runs are compared.
constexpr const char* counted_processor = "max,-smap,-rdrand,-rdseed,-erms,-fsrm";

std::vector<std::string> machine(const RunOptions& options, int control) {
    std::vector<std::string> arguments = {
        "qemu-system-x86_64", "-machine", "pc,accel=tcg", "-nodefaults", "-display", "none", "-no-reboot",
        "-serial", "stdio", "-chardev", "socket,id=control,fd=" + std::to_string(control), "-mon",
        "chardev=control,mode=control", "-m", std::to_string(options.memory >> 20U), "-smp",
        std::to_string(options.cpus), "-cpu", options.deterministic ? counted_processor : "max", "-kernel",
        options.kernel,
        // A user's own words come later and win.
        "-append", "console=ttyS0 panic=-1 " + options.append};
    const auto add = [&](std::initializer_list<std::string> more) {
        arguments.insert(arguments.end(), more);
    };
    if (!options.initrd.empty()) {
        add({"-initrd", options.initrd});
    }
    if (options.net == "user") {
        add({"-nic", "user,model=e1000"});
    } else if (options.net.starts_with("tap=")) {
        add({"-nic", "tap,ifname=" + options.net.substr(4) + ",script=no,downscript=no,model=e1000"});
    }
    if (options.deterministic) {
        add({"-icount", "shift=0,sleep=off", "-rtc", "base=2026-01-01T00:00:00,clock=vm"});
    }
    return arguments;
}

class BareMachine {
public:
    explicit BareMachine(const RunOptions& options) : options_(options) {}

    RunStatus run() {
        hold_signals();
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
        const int status = wait_for_program(process_);
        while (control_.read()) { // why it ended may be queued behind a long answer
        }
        return judge(status);
    }

private:
    void hold_signals() {
        sigset_t held;
        sigemptyset(&held);
        std::ranges::for_each(ending_signals, [&](int number) { sigaddset(&held, number); });
        sigprocmask(SIG_BLOCK, &held, nullptr);
        signals_ = Descriptor(signalfd(-1, &held, SFD_CLOEXEC));
        std::signal(SIGPIPE, SIG_IGN);
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
        process_ = start_program(
            {.arguments = machine(options_, theirs.number()), .directory = {}, .environment = {}},
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
            std::array<pollfd, 4> waiting = {
                {{.fd = output_.number(), .events = POLLIN, .revents = 0},
                 {.fd = control_open ? control_.descriptor() : -1, .events = POLLIN, .revents = 0},
                 {.fd = input_open && ready_for_keys() ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0},
                 {.fd = signals_.number(), .events = POLLIN, .revents = 0}}};
            if (poll(waiting.data(), waiting.size(), milliseconds_to_wait(input_open)) < 0 &&
                errno != EINTR) {
                throw InputError("poll: " + std::generic_category().message(errno));
            }
            if (waiting[3].revents != 0) {
                ended_by_ = "a signal";
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
                return;
            }
            look_at_clock();
        }
    }

    [[nodiscard]] bool ready_for_keys() {
        const auto now = Clock::now();
        ready_ = ready_ || terminal_ || (watch_.in_a_line() && now - heard_at_ > prompt_is_silent_for) ||
                 now - begin_ > longest_wait_for_prompt;
        return ready_;
    }

    [[nodiscard]] int milliseconds_to_wait(bool input_open) const {
        if (watch_.said_goodbye() || !watch_.panic().empty() || (input_open && !ready_)) {
            return static_cast<int>(std::chrono::milliseconds(halt_question_every).count());
        }
        if (options_.timeout <= 0) {
            return -1;
        }
        const double left = options_.timeout - std::chrono::duration<double>(Clock::now() - begin_).count();
        return static_cast<int>(std::clamp((left * 1000) + 1, 0.0, 1e6));
    }

    void look_at_clock() {
        const auto now = Clock::now();
        if (options_.timeout > 0 && std::chrono::duration<double>(now - begin_).count() >= options_.timeout) {
            timed_out_ = true;
            stop_ = true;
        }
        if (!watch_.panic().empty()) {
            panicked_at_ = panicked_at_.value_or(now);
            stop_ = stop_ || now - *panicked_at_ > reset_after_panic_within;
        }
        if (watch_.said_goodbye() && now - asked_at_ >= halt_question_every) {
            asked_at_ = now;
            stop_ = stop_ || control_.halted();
            control_.ask_if_halted();
        }
    }

    bool relay_output() {
        std::array<char, 4096> block{};
        const ssize_t got = read(output_.number(), block.data(), block.size());
        if (got <= 0) {
            return false;
        }
        const std::string_view text(block.data(), static_cast<std::size_t>(got));
        watch_.read(text);
        heard_at_ = Clock::now();
        if (options_.watch_console) {
            std::cout << text << std::flush;
        } else {
            options_.console(text);
        }
        return true;
    }

    bool relay_keys() {
        std::array<char, 256> block{};
        const ssize_t got = read(STDIN_FILENO, block.data(), block.size());
        if (got <= 0) {
            return false;
        }
        const std::string_view keys(block.data(), static_cast<std::size_t>(got));
        if (terminal_ && keys.find(end_guest_key) != std::string_view::npos) {
            ended_by_ = "Ctrl-]";
            stop_ = true;
            return false;
        }
        return write(keys_.number(), keys.data(), keys.size()) == got;
    }

    RunStatus judge(int status) {
        if (timed_out_) {
            std::cerr << "previrt: the guest did not end within " << options_.timeout << " s\n";
            return run_timed_out;
        }
        if (!watch_.panic().empty()) {
            std::cerr << "previrt: the guest failed: " << watch_.panic() << '\n';
            return guest_failed;
        }
        if (!ended_by_.empty()) {
            std::cerr << "\nprevirt: ended by " << ended_by_ << '\n';
            return guest_failed;
        }
        const std::string& reason = control_.shutdown_reason();
        if (control_.halted() || reason == "guest-shutdown" ||
            (reason == "guest-reset" && watch_.said_goodbye())) {
            return guest_ended;
        }
        if (reason == "guest-reset") {
            std::cerr << "previrt: the machine was reset and its kernel had not said so: a triple fault?\n";
            return guest_failed;
        }
        if (reason.empty()) {
            throw InputError("QEMU ended with status " + std::to_string(status) + " and not by the guest");
        }
        std::cerr << "previrt: the machine was stopped: " << reason << '\n';
        return guest_failed;
    }

    const RunOptions& options_;
    pid_t process_ = -1;
    MachineControl control_;
    Descriptor keys_;
    Descriptor output_;
    Descriptor signals_;
    ConsoleWatch watch_;
    Clock::time_point begin_;
    Clock::time_point asked_at_;
    Clock::time_point heard_at_;
    std::optional<Clock::time_point> panicked_at_;
    bool terminal_ = false;
    bool ready_ = false; // for keys
    bool over_ = false;
    bool stop_ = false;
    bool timed_out_ = false;
    std::string ended_by_;
};

} // namespace

RunStatus run_bare(const RunOptions& options) {
    return BareMachine(options).run();
}

} // namespace previrt
