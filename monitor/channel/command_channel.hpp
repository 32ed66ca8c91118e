// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/contract/packet_ring.hpp"
#include "backends/common/contract/vsock_start.hpp"
#include "guest/agent/messages.hpp"
#include "host/program.hpp"
#include "monitor/channel/guest_stream.hpp"
#include "monitor/channel/vsock_end.hpp"
#include "monitor/console/output_pump.hpp"
#include "monitor/console/terminal.hpp"
#include "monitor/guest/guest_threads.hpp"
#include "monitor/options.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace previrt {

// The end of a command.
struct CommandEnd {
    std::optional<std::uint8_t> status; // nullopt: the guest has said nothing
    std::string failure;                // why it was not started
    bool timed_out = false;             // nobody read its output until the run's time was up
};

// A command in a guest: its standard streams, its signals and its end, by streams to the guest's agent. A
// thread of the monitor moves the bytes. It waits for nothing but poll().
class CommandChannel {
public:
    // Call it before there is a guest. Throws InputError.
    explicit CommandChannel(const RunOptions& options);
    CommandChannel(const CommandChannel&) = delete;
    CommandChannel& operator=(const CommandChannel&) = delete;
    ~CommandChannel() = default;

    // Eventfds: the guest's doorbell; this run shall end.
    [[nodiscard]] const Descriptor& called() const { return called_; }
    [[nodiscard]] const Descriptor& given_up() const { return given_up_; }
    static void describe(monitored::VsockStart& start);

    // Holds the signals of the calling thread, takes the terminal, and starts the threads that write the
    // output. Call it when the calling thread has no more privileges than it needs.
    void begin();
    // The thread's work, until the guest has ended and its output is delivered. It confines itself.
    void relay(monitored::PacketRing& sent, monitored::PacketRing& received,
               const std::function<void()>& call_guest, pid_t group);
    // The guest has ended.
    void end() const;
    // After relay(): gives the terminal back.
    void finish() { terminal_.reset(); }
    [[nodiscard]] const CommandEnd& result() const { return end_; }

private:
    using Clock = std::chrono::steady_clock;

    // The places of the descriptors in a call of poll().
    enum Place : std::uint8_t {
        doorbell,
        ended,
        signals,
        input,
        output,
        errors,
        output_gone,
        errors_gone,
        places
    };
    using Polls = std::array<pollfd, places>;

    // One of the two outputs, and what is behind it on this machine.
    struct Output {
        GuestStream stream;
        OutputPump pump;
        int descriptor;

        Output(std::uint32_t port, int to);
        [[nodiscard]] pollfd watched() const;
        void polled(const pollfd& pump_poll, const pollfd& gone);
        [[nodiscard]] bool is_delivered() const { return pump.is_over() || pump.error() != 0; }
    };

    void serve(VsockEnd& guest);
    void read_input(VsockEnd& guest);
    void send_control(VsockEnd& guest);
    void take_control(std::span<const std::uint8_t> bytes);
    void take_end(agent::Message message, std::uint32_t value);
    void take_signals();
    void pass_on(int number, bool to_group);
    [[nodiscard]] bool command_runs() const;
    void give_up(int signal);
    bool wait(VsockEnd& guest, bool goes_on);
    [[nodiscard]] Polls polls() const;
    void polled(const Polls& polls);
    void deliver();
    [[nodiscard]] int milliseconds_left() const;

    const RunOptions& options_;
    Descriptor called_;
    Descriptor ended_;
    Descriptor given_up_;
    Descriptor signals_;
    bool has_terminal_;
    std::optional<RawTerminal> terminal_;
    std::string to_guest_; // of the control stream: not sent yet
    std::string from_guest_;
    GuestStream control_;
    GuestStream input_;
    Output output_;
    Output errors_;
    bool input_is_open_ = true;
    bool input_has_room_ = false;
    bool input_is_ready_ = false;
    std::optional<Clock::time_point> deadline_;
    bool is_given_up_ = false;
    CommandEnd end_;
};

// Null: the options have no command.
std::unique_ptr<CommandChannel> open_command_channel(const RunOptions& options);

struct CommandRings {
    monitored::PacketRing& sent;
    monitored::PacketRing& received;
};

// The thread of a channel, which must outlive it. Without a channel it has no work.
CommandThread command_thread(CommandChannel* channel, const CommandRings& rings,
                             std::function<void()> call_guest, pid_t group = 0);

} // namespace previrt
