// SPDX-License-Identifier: BSD-2-Clause
#include "oci/network/route_socket.hpp"

#include "host/input_error.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/socket.h>
#include <system_error>

namespace previrt::oci {

namespace {

constexpr std::size_t alignment = 4;

std::size_t aligned(std::size_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
}

void require(bool done, const std::string& step, int error = errno) {
    if (!done) {
        throw InputError("rtnetlink: " + step + ": " + std::generic_category().message(error));
    }
}

template <typename Header>
Header header_at(std::string_view bytes) {
    Header header{};
    require(bytes.size() >= sizeof header, "a short message", EPROTO);
    bytes.copy(reinterpret_cast<char*>(&header), sizeof header);
    return header;
}

void pad(std::string& bytes) {
    bytes.resize(aligned(bytes.size()));
}

RouteMessage parse(std::uint16_t type, std::string_view bytes, std::size_t content_bytes) {
    require(bytes.size() >= content_bytes, "a short message", EPROTO);
    RouteMessage message{
        .type = type, .content = std::string(bytes.substr(0, content_bytes)), .attributes = {}};
    bytes.remove_prefix(std::min(aligned(content_bytes), bytes.size()));
    while (bytes.size() >= sizeof(rtattr)) {
        const auto attribute = header_at<rtattr>(bytes);
        require(attribute.rta_len >= sizeof(rtattr) && attribute.rta_len <= bytes.size(), "an attribute",
                EPROTO);
        message.attributes[attribute.rta_type] =
            std::string(bytes.substr(sizeof(rtattr), attribute.rta_len - sizeof(rtattr)));
        bytes.remove_prefix(std::min(aligned(attribute.rta_len), bytes.size()));
    }
    return message;
}

template <typename Structure>
std::string_view bytes_of(const Structure& structure) {
    return {reinterpret_cast<const char*>(&structure), sizeof structure};
}

} // namespace

std::string RouteMessage::encode(std::uint16_t flags) const {
    std::string body = content;
    pad(body);
    for (const auto& [number, value] : attributes) {
        const rtattr attribute{.rta_len = static_cast<unsigned short>(sizeof(rtattr) + value.size()),
                               .rta_type = number};
        body.append(bytes_of(attribute)).append(value);
        pad(body);
    }
    nlmsghdr header{};
    header.nlmsg_len = static_cast<std::uint32_t>(sizeof header + body.size());
    header.nlmsg_type = type;
    header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags);
    return std::string(bytes_of(header)) + body;
}

std::size_t RouteMessage::place_of(std::uint16_t attribute) const {
    std::size_t place = content_place + aligned(content.size());
    for (auto before = attributes.begin(); before->first != attribute; ++before) {
        place += aligned(sizeof(rtattr) + before->second.size());
    }
    return place + sizeof(rtattr);
}

RouteSocket::RouteSocket() : socket_(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)) {
    require(socket_.number() >= 0, "socket");
}

void RouteSocket::send(const std::string& bytes) {
    require(::send(socket_.number(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
            "send");
}

std::string RouteSocket::receive() {
    constexpr std::size_t most = 65536;
    std::string bytes(most, '\0');
    const ssize_t got = recv(socket_.number(), bytes.data(), bytes.size(), 0);
    require(got >= 0, "recv");
    bytes.resize(static_cast<std::size_t>(got));
    return bytes;
}

std::vector<RouteMessage> RouteSocket::list(std::uint16_t request, std::size_t content_bytes) {
    const RouteMessage question{
        .type = request, .content = std::string(content_bytes, '\0'), .attributes = {}};
    send(question.encode(NLM_F_DUMP));
    std::vector<RouteMessage> found;
    for (;;) {
        const std::string received = receive();
        std::string_view rest = received;
        while (!rest.empty()) {
            const auto header = header_at<nlmsghdr>(rest);
            require(header.nlmsg_len >= sizeof header && header.nlmsg_len <= rest.size(), "a message",
                    EPROTO);
            if (header.nlmsg_type == NLMSG_DONE) {
                return found;
            }
            require(header.nlmsg_type != NLMSG_ERROR, "a list", EPROTO);
            found.push_back(parse(header.nlmsg_type,
                                  rest.substr(sizeof header, header.nlmsg_len - sizeof header),
                                  content_bytes));
            rest.remove_prefix(std::min(aligned(header.nlmsg_len), rest.size()));
        }
    }
}

void RouteSocket::change(const RouteMessage& message, const std::string& purpose) {
    send(message.encode(0));
    const std::string answer = receive();
    const auto header = header_at<nlmsghdr>(answer);
    require(header.nlmsg_type == NLMSG_ERROR, purpose, EPROTO);
    const auto error = header_at<nlmsgerr>(std::string_view(answer).substr(sizeof header));
    require(error.error == 0, purpose, -error.error);
}

} // namespace previrt::oci
