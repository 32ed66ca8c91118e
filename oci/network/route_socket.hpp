// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

#include <cstdint>
#include <linux/rtnetlink.h>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace previrt::oci {

// A message of rtnetlink: a structure of the message's kind, and attributes.
struct RouteMessage {
    std::uint16_t type = 0;
    std::string content;                             // the structure
    std::map<std::uint16_t, std::string> attributes; // by their numbers

    template <typename Content>
    [[nodiscard]] const Content& as() const {
        return *reinterpret_cast<const Content*>(content.data());
    }
    template <typename Content>
    Content& as() {
        return *reinterpret_cast<Content*>(content.data());
    }
    template <typename Value>
    [[nodiscard]] Value value(std::uint16_t attribute, Value otherwise) const {
        const auto found = attributes.find(attribute);
        Value value = otherwise;
        if (found != attributes.end() && found->second.size() >= sizeof value) {
            found->second.copy(reinterpret_cast<char*>(&value), sizeof value);
        }
        return value;
    }
    template <typename Value>
    void set(std::uint16_t attribute, const Value& value) {
        attributes[attribute] = std::string(reinterpret_cast<const char*>(&value), sizeof value);
    }

    // As it is sent, with a header that asks for an answer. `flags`: in addition.
    [[nodiscard]] std::string encode(std::uint16_t flags) const;
    // The place of an attribute's value in that.
    [[nodiscard]] std::size_t place_of(std::uint16_t attribute) const;
};
constexpr std::size_t content_place = sizeof(nlmsghdr); // in an encoded message

// Asks the network namespace of this process.
class RouteSocket {
public:
    RouteSocket(); // throws InputError, as all of its functions

    // All of a kind: RTM_GETLINK, RTM_GETADDR or RTM_GETROUTE.
    std::vector<RouteMessage> list(std::uint16_t request, std::size_t content_bytes);
    // Throws InputError with `purpose` if Linux refuses it.
    void change(const RouteMessage& message, const std::string& purpose);

private:
    void send(const std::string& bytes);
    std::string receive();

    Descriptor socket_;
};

} // namespace previrt::oci
