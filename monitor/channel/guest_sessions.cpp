// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/channel/guest_sessions.hpp"

#include "host/passed_descriptors.hpp"
#include "monitor/channel/start_message.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <sys/socket.h>
#include <utility>

namespace previrt {

namespace {

constexpr std::size_t sockets_of_client = agent::ports_of_a_session - 1;
constexpr std::uint32_t request_bytes = sizeof(agent::MessageHeader) + sizeof(agent::Session);
using ClientSockets = std::array<Descriptor, sockets_of_client>;

// The client's byte with its sockets; nullopt: it has sent anything else.
std::optional<ClientSockets> receive_sockets(int client) {
    std::array<std::uint8_t, 1> byte{};
    ClientSockets sockets;
    const ReceivedDescriptors received = receive_with_descriptors(client, byte, sockets, MSG_DONTWAIT);
    const bool are_sockets = std::ranges::all_of(sockets, [](const Descriptor& socket) {
        int type = 0;
        socklen_t bytes = sizeof type;
        return getsockopt(socket.number(), SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 && type == SOCK_STREAM;
    });
    if (received.count != sockets.size() || !received.is_complete || !are_sockets) {
        return {};
    }
    return sockets;
}

} // namespace

GuestSessions::Pair::Pair(std::uint32_t port, Descriptor socket, bool is_input)
    : socket_(std::move(socket)),
      stream_(port,
              [this](std::span<const std::uint8_t> bytes) {
                  tell({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
              }),
      is_input_(is_input) {}

void GuestSessions::Pair::tell(std::string_view bytes) {
    held_ += bytes;
    deliver();
}

// Bytes that the client does not take yet stay here: the guest may send only so many more.
void GuestSessions::Pair::deliver() {
    while (!held_.empty()) {
        const ssize_t sent = send(socket_.number(), held_.data(), held_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0) {
            if (errno != EAGAIN && errno != EINTR) {
                hang_up();
            }
            break;
        }
        held_.erase(0, static_cast<std::size_t>(sent));
    }
    stream_.keep(held_.size());
    if (held_.empty() && stream_.has_all() && !client_is_told_) {
        client_is_told_ = true;
        shutdown(socket_.number(), SHUT_WR);
    }
}

// The client reads no more.
void GuestSessions::Pair::hang_up() {
    held_.clear();
    client_sends_ = false;
    stream_.close();
}

void GuestSessions::Pair::serve(VsockEnd& guest) {
    deliver();
    has_room_ = false;
    if (!client_sends_ || !stream_.is_read()) {
        return;
    }
    const std::span<std::uint8_t> room = guest.room(stream_);
    has_room_ = !room.empty();
    if (!has_room_ || !std::exchange(is_readable_, false)) {
        return;
    }
    const ssize_t got = recv(socket_.number(), room.data(), room.size(), MSG_DONTWAIT);
    if (got > 0) {
        guest.send(stream_, static_cast<std::uint32_t>(got));
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        client_sends_ = false;
        stream_.end_sending();
    }
}

pollfd GuestSessions::Pair::watched() const {
    const bool reads = client_sends_ && has_room_;
    const auto events = static_cast<short>((reads ? POLLIN : 0) | (held_.empty() ? 0 : POLLOUT));
    // The end of a client is an event in any case, and would come again and again.
    const bool waits = events != 0 || (!stream_.is_closed() && !is_input_);
    return {.fd = waits ? socket_.number() : -1, .events = events, .revents = 0};
}

void GuestSessions::Pair::polled(short events) {
    is_readable_ = (events & POLLIN) != 0;
    if ((events & (POLLERR | POLLHUP)) != 0 && (events & POLLIN) == 0 && !is_input_) {
        hang_up();
    }
}

bool GuestSessions::Pair::is_over() const {
    return stream_.is_closed() && held_.empty() && !stream_.next_owed();
}

void GuestSessions::Session::close_waiting() const {
    for (const auto& pair : pairs) {
        if (!pair->stream().is_open()) {
            pair->stream().close();
        }
    }
}

bool GuestSessions::Session::is_over() const {
    return std::ranges::all_of(pairs, [](const auto& pair) { return pair->is_over(); });
}

GuestSessions::GuestSessions(int listener)
    : listener_(listener),
      requests_(agent::session_port, [this](std::span<const std::uint8_t>) { requests_.close(); }) {}

void GuestSessions::join(VsockEnd& guest) {
    guest.add(requests_);
}

void GuestSessions::serve(VsockEnd& guest) {
    for (Session& session : sessions_) {
        if (session.is_new) {
            begin(guest, session);
        }
        for (const auto& pair : session.pairs) {
            pair->serve(guest);
        }
        if (session.control().stream().is_closed()) {
            session.close_waiting();
        }
        if (!session.is_connected && session.control().stream().is_open()) {
            session.is_connected = true;
            const agent::MessageHeader connected{.message = agent::Message::connected, .bytes = 0};
            session.control().tell({reinterpret_cast<const char*>(&connected), sizeof connected});
        }
    }
    while (!to_agent_.empty()) {
        const std::span<std::uint8_t> room = guest.room(requests_);
        if (room.size() < request_bytes) { // the agent takes each in one piece
            break;
        }
        std::memcpy(room.data(), to_agent_.data(), request_bytes);
        guest.send(requests_, request_bytes);
        to_agent_.erase(0, request_bytes);
    }
    forget_ended(guest);
}

void GuestSessions::begin(VsockEnd& guest, Session& session) {
    session.is_new = false;
    for (const auto& pair : session.pairs) {
        guest.add(pair->stream());
    }
    to_agent_ +=
        make_message(agent::Message::session, agent::Session{.port = session.control().stream().port()});
}

void GuestSessions::forget_ended(VsockEnd& guest) {
    std::erase_if(sessions_, [&](const Session& session) {
        if (!session.is_over()) {
            return false;
        }
        for (const auto& pair : session.pairs) {
            guest.remove(pair->stream());
        }
        return true;
    });
}

void GuestSessions::accept_client() {
    Descriptor client(accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    const bool agent_listens = !requests_.is_closed() && to_agent_.size() < most * request_bytes;
    if (client.number() >= 0 && clients_.size() + sessions_.size() < most && agent_listens) {
        clients_.push_back(std::move(client));
    }
}

void GuestSessions::greet(Descriptor client) {
    std::optional<ClientSockets> sockets = receive_sockets(client.number());
    if (sockets) {
        Session session;
        session.pairs[0] = std::make_unique<Pair>(next_port_, std::move(client), false);
        for (std::uint32_t i = 1; i < agent::ports_of_a_session; ++i) {
            session.pairs.at(i) =
                std::make_unique<Pair>(next_port_ + i, std::move(sockets->at(i - 1)), i == 1);
        }
        next_port_ += agent::ports_of_a_session;
        sessions_.push_back(std::move(session));
    }
}

void GuestSessions::watch(std::vector<pollfd>& polls) const {
    polls.push_back({.fd = listener_, .events = POLLIN, .revents = 0});
    for (const Descriptor& client : clients_) {
        polls.push_back({.fd = client.number(), .events = POLLIN, .revents = 0});
    }
    for (const Session& session : sessions_) {
        for (const auto& pair : session.pairs) {
            polls.push_back(pair->watched());
        }
    }
}

void GuestSessions::polled(std::span<const pollfd> polls) {
    const std::span<const pollfd> of_clients = polls.subspan(1, clients_.size());
    std::span<const pollfd> of_sessions = polls.subspan(1 + clients_.size());
    for (const Session& session : sessions_) {
        for (std::size_t i = 0; i < session.pairs.size(); ++i) {
            session.pairs.at(i)->polled(of_sessions[i].revents);
        }
        of_sessions = of_sessions.subspan(session.pairs.size());
    }
    for (std::size_t i = 0; i < of_clients.size(); ++i) {
        if (of_clients[i].revents != 0) {
            greet(std::move(clients_[i]));
        }
    }
    std::erase_if(clients_, [](const Descriptor& client) { return client.number() < 0; });
    if (polls[0].revents != 0) {
        accept_client();
    }
}

} // namespace previrt
