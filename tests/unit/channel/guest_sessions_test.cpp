// SPDX-License-Identifier: BSD-2-Clause
// Further commands: clients of this machine and an agent in the guest, of which neither may keep the rules.
#include "monitor/channel/guest_sessions.hpp"

#include "host/passed_descriptors.hpp"
#include "tests/unit/channel/vsock_guest.hpp"
#include "tests/unit/listener.hpp"

#include <array>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <span>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace previrt {
namespace {

using namespace vsock;

struct Client {
    Descriptor control;
    std::array<Descriptor, 3> streams; // input, output, errors
};

class GuestSessionsTest : public VsockGuestTest {
protected:
    GuestSessionsTest() { sessions_.join(end_); }

    [[nodiscard]] Descriptor connect() const { return connect_to(listener_); }
    static void send_descriptors(const Descriptor& to, std::span<const int> numbers) {
        ASSERT_TRUE(send_with_descriptors(to.number(), std::array<std::uint8_t, 1>{}, numbers));
    }
    Client greet() {
        Client client;
        client.control = connect();
        std::array<Descriptor, 3> monitors;
        std::array<int, 3> numbers{};
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            std::array<int, 2> both{};
            EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, both.data()), 0);
            client.streams.at(i) = Descriptor(both[0]);
            monitors.at(i) = Descriptor(both[1]);
            numbers.at(i) = both[1];
        }
        send_descriptors(client.control, numbers);
        serve();
        return client;
    }
    // What the monitor's thread does, until nothing is left to do.
    void serve() {
        constexpr int rounds = 6;
        std::vector<pollfd> polls;
        for (int i = 0; i < rounds; ++i) {
            while (end_.receive()) {
            }
            sessions_.serve(end_);
            end_.finish();
            polls.clear();
            sessions_.watch(polls);
            poll(polls.data(), polls.size(), 0);
            sessions_.polled(polls);
        }
    }
    void put_and_serve(Operation operation, std::uint32_t port, const std::string& payload = {},
                       std::uint32_t flags = 0) {
        Header sent = header(operation, port);
        sent.flags = flags;
        put(sent, payload);
        serve();
    }
    // The agent waits for requests.
    void start_agent() {
        put_and_serve(op_request, agent::session_port);
        const auto answer = take();
        ASSERT_TRUE(answer);
        EXPECT_EQ(answer->header.op, op_response);
    }
    // The agent takes the next request, and connects.
    std::uint32_t accept_session() {
        const auto request = take();
        EXPECT_TRUE(request);
        agent::MessageHeader message{};
        agent::Session session{};
        if (!request || request->payload.size() != sizeof message + sizeof session) {
            ADD_FAILURE() << "no request";
            return 0;
        }
        std::memcpy(&message, request->payload.data(), sizeof message);
        std::memcpy(&session, request->payload.data() + sizeof message, sizeof session);
        EXPECT_EQ(message.message, agent::Message::session);
        for (std::uint32_t i = 0; i < agent::ports_of_a_session; ++i) {
            put_and_serve(op_request, session.port + i);
            const auto answer = take();
            EXPECT_TRUE(answer && answer->header.op == op_response);
        }
        return session.port;
    }
    static std::string read_all(const Descriptor& from) {
        std::string text;
        std::array<char, 4096> room{};
        for (ssize_t got = 0; (got = read(from.number(), room.data(), room.size())) > 0;) {
            text.append(room.data(), static_cast<std::size_t>(got));
        }
        return text;
    }
    static bool is_at_end(const Descriptor& from) {
        char byte = 0;
        const ssize_t got = recv(from.number(), &byte, 1, MSG_DONTWAIT);
        return got == 0 || (got < 0 && errno == ECONNRESET); // the other end has not read all
    }

    Descriptor listener_ = make_listener();
    VsockEnd end_{guest, *to_host_, *to_guest_, [] {}};
    GuestSessions sessions_{listener_.number()};
};

std::string connected_message() {
    const agent::MessageHeader header{.message = agent::Message::connected, .bytes = 0};
    return {reinterpret_cast<const char*>(&header), sizeof header};
}

TEST_F(GuestSessionsTest, CarriesFourStreamsToTheirEnds) {
    start_agent();
    const Client client = greet();
    const std::uint32_t port = accept_session();
    EXPECT_EQ(read_all(client.control), connected_message());
    ASSERT_EQ(write(client.streams[0].number(), "input", 5), 5);
    serve();
    const auto input = take();
    ASSERT_TRUE(input);
    EXPECT_EQ(input->header.src_port, port + 1);
    EXPECT_EQ(input->payload, "input");
    put_and_serve(op_rw, port + 2, "output");
    put_and_serve(op_rw, port + 3, "errors");
    put_and_serve(op_rw, port, "end");
    EXPECT_EQ(read_all(client.streams[1]), "output");
    EXPECT_EQ(read_all(client.streams[2]), "errors");
    EXPECT_EQ(read_all(client.control), "end");
    shutdown(client.streams[0].number(), SHUT_WR);
    serve();
    EXPECT_EQ(take()->header.op, op_shutdown);
    for (std::uint32_t i = 0; i < agent::ports_of_a_session; ++i) {
        put_and_serve(op_shutdown, port + i, {}, shutdown_receive | shutdown_send);
        EXPECT_EQ(take()->header.op, op_rst);
    }
    EXPECT_TRUE(is_at_end(client.streams[1]));
    EXPECT_TRUE(is_at_end(client.control));
}

TEST_F(GuestSessionsTest, AClientThatGoesEndsItsSession) {
    start_agent();
    std::uint32_t port = 0;
    {
        const Client client = greet();
        port = accept_session();
    }
    serve();
    unsigned resets = 0;
    while (const auto packet = take()) {
        // The command's input ends in order: its last bytes may be under way.
        const bool is_input = packet->header.src_port == port + 1;
        EXPECT_FALSE(is_input && packet->header.op == op_rst);
        resets += packet->header.op == op_rst ? 1U : 0U;
    }
    EXPECT_EQ(resets, agent::ports_of_a_session - 1);
    put_and_serve(op_shutdown, port + 1, {}, shutdown_receive | shutdown_send);
    EXPECT_EQ(take()->header.op, op_rst);
    // Another one takes its place.
    const Client client = greet();
    accept_session();
    EXPECT_EQ(read_all(client.control), connected_message());
}

TEST_F(GuestSessionsTest, AClientMayGoBeforeTheAgentConnects) {
    start_agent();
    std::uint32_t port = 0;
    {
        const Client client = greet();
        const auto request = take();
        ASSERT_TRUE(request);
        std::memcpy(&port, request->payload.data() + sizeof(agent::MessageHeader), sizeof port);
    }
    serve();
    put_and_serve(op_request, port);
    EXPECT_EQ(take()->header.op, op_rst);
}

TEST_F(GuestSessionsTest, WaitsForTheAgent) {
    const Client client = greet();
    EXPECT_FALSE(take());
    start_agent();
    accept_session();
    EXPECT_EQ(read_all(client.control), connected_message());
}

TEST_F(GuestSessionsTest, WithoutItsAgentItRefusesClients) {
    start_agent();
    put_and_serve(op_rst, agent::session_port);
    const Client client = greet();
    serve();
    EXPECT_TRUE(is_at_end(client.control));
}

TEST_F(GuestSessionsTest, AGreetingWithoutThreeSocketsIsRefused) {
    start_agent();
    const Descriptor nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
    const Descriptor client = connect();
    for (const std::size_t count : {1U, 2U, 4U, 9U}) {
        const Descriptor other = connect();
        send_descriptors(other, std::vector<int>(count, client.number()));
        serve();
        EXPECT_TRUE(is_at_end(other)) << count;
    }
    const Descriptor other = connect();
    send_descriptors(other, std::vector<int>(3, nothing.number()));
    serve();
    EXPECT_TRUE(is_at_end(other));
    ASSERT_EQ(write(client.number(), "text", 4), 4);
    serve();
    EXPECT_TRUE(is_at_end(client));
    EXPECT_FALSE(take());
}

TEST_F(GuestSessionsTest, ClientsAreBounded) {
    start_agent();
    std::vector<Descriptor> clients;
    for (std::size_t i = 0; i < GuestSessions::most + 5; ++i) {
        clients.push_back(connect());
        serve();
    }
    for (std::size_t i = 0; i < clients.size(); ++i) {
        EXPECT_EQ(is_at_end(clients[i]), i >= GuestSessions::most) << i;
    }
}

// A client that does not read: the guest may send only as much as the monitor holds.
TEST_F(GuestSessionsTest, WhatTheClientDoesNotReadIsBounded) {
    start_agent();
    const Client client = greet();
    const std::uint32_t port = accept_session();
    bool is_reset = false;
    for (int i = 0; i < 100 && !is_reset; ++i) {
        put_and_serve(op_rw, port + 2, std::string(most_payload, 'x'));
        while (const auto packet = take()) {
            is_reset = is_reset || packet->header.op == op_rst;
        }
    }
    EXPECT_TRUE(is_reset);
    EXPECT_EQ(read_all(client.control), connected_message()); // the other streams live
}

TEST_F(GuestSessionsTest, AnAgentThatAnswersRequestsLosesTheirStream) {
    start_agent();
    put_and_serve(op_rw, agent::session_port, "what");
    EXPECT_EQ(take()->header.op, op_rst);
}

} // namespace
} // namespace previrt
