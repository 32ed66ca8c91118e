// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "guest/agent/messages.hpp"
#include "host/program.hpp"
#include "monitor/channel/channel_part.hpp"
#include "monitor/channel/guest_stream.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <string>

namespace previrt {

// Further commands in a guest. A client of this machine connects to the listening socket and sends one byte
// with three more sockets: the command's input, output and errors. The connection itself is the session's
// control stream. This class only copies bytes between the four sockets and four streams to the guest's
// agent; the client and the agent talk to each other.
class GuestSessions : public ChannelPart {
public:
    static constexpr std::size_t most = 64; // at once: each may hold four times GuestStream::room

    // The listening socket, which stays its owner's.
    explicit GuestSessions(int listener);

    void join(VsockEnd& guest) override;
    void serve(VsockEnd& guest) override;
    void watch(std::vector<pollfd>& polls) const override;
    void polled(std::span<const pollfd> polls) override;

private:
    // A stream of the guest's and the client's socket. A client that closes the command's input has sent it
    // all; if it closes any other, it is gone.
    class Pair {
    public:
        Pair(std::uint32_t port, Descriptor socket, bool is_input);

        [[nodiscard]] GuestStream& stream() { return stream_; }
        [[nodiscard]] const GuestStream& stream() const { return stream_; }
        [[nodiscard]] bool is_over() const;
        void serve(VsockEnd& guest);
        [[nodiscard]] pollfd watched() const;
        void polled(short events);
        void hang_up();
        void tell(std::string_view bytes);

    private:
        void deliver();

        Descriptor socket_;
        GuestStream stream_;
        bool is_input_;
        std::string held_; // for the client
        bool client_sends_ = true;
        bool client_is_told_ = false; // that no more comes
        bool has_room_ = false;       // in the guest
        bool is_readable_ = false;
    };

    struct Session {
        // Control, input, output, errors.
        std::array<std::unique_ptr<Pair>, agent::ports_of_a_session> pairs;
        bool is_new = true;        // the agent has not been asked
        bool is_connected = false; // the client knows that the agent has taken it

        [[nodiscard]] Pair& control() const { return *pairs[0]; }
        // The client is gone, and the agent need not connect any more.
        void close_waiting() const;
        [[nodiscard]] bool is_over() const;
    };

    void accept_client();
    void greet(Descriptor client);
    void begin(VsockEnd& guest, Session& session);
    void forget_ended(VsockEnd& guest);

    int listener_;
    GuestStream requests_;
    std::string to_agent_;
    std::vector<Descriptor> clients_; // they have sent nothing yet
    std::vector<Session> sessions_;
    std::uint32_t next_port_ = agent::first_port_of_sessions;
};

} // namespace previrt
