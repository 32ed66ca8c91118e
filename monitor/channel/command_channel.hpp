// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"
#include "monitor/channel/channel_part.hpp"
#include "monitor/channel/command_end.hpp"
#include "monitor/channel/guest_stream.hpp"
#include "monitor/channel/vsock_end.hpp"
#include "monitor/console/output_pump.hpp"
#include "monitor/console/terminal.hpp"
#include "monitor/options.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <poll.h>
#include <span>
#include <string>
#include <vector>

namespace previrt {

// A guest's own command: its standard streams, its signals and its end, by streams to the guest's agent.
class CommandChannel : public ChannelPart {
public:
    // Call it before there is a guest. Throws InputError.
    explicit CommandChannel(const RunOptions& options);
    CommandChannel(const CommandChannel&) = delete;
    CommandChannel& operator=(const CommandChannel&) = delete;
    ~CommandChannel() override = default;

    // An eventfd: this run shall end.
    [[nodiscard]] const Descriptor& given_up() const { return given_up_; }

    // Holds the signals of the calling thread, takes the terminal, and starts the threads that write the
    // output. Call it when the calling thread has no more privileges than it needs.
    void begin();

    void join(VsockEnd& guest) override;
    void serve(VsockEnd& guest) override;
    void watch(std::vector<pollfd>& polls) const override;
    void polled(std::span<const pollfd> polls) override;

    // The guest has ended: waits for the readers of its output.
    void deliver();
    // After that: gives the terminal back.
    void finish() { terminal_.reset(); }
    [[nodiscard]] const CommandEnd& result() const { return end_; }

private:
    using Clock = std::chrono::steady_clock;

    // The places of its descriptors in a call of poll().
    enum Place : std::uint8_t { signals, input, output, errors, output_gone, errors_gone, places };

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

    void read_input(VsockEnd& guest);
    void send_control(VsockEnd& guest);
    void take_control(std::span<const std::uint8_t> bytes);
    void take_signals();
    void pass_on(int number, bool to_group);
    [[nodiscard]] bool command_runs() const;
    void give_up(int signal);
    [[nodiscard]] int milliseconds_left() const;

    const RunOptions& options_;
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

} // namespace previrt
