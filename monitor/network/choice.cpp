// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/network/choice.hpp"

#include "host/input_error.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <optional>
#include <span>
#include <sys/random.h>
#include <system_error>
#include <utility>

namespace previrt {

namespace {

constexpr unsigned least_mtu = 68; // of IPv4
constexpr unsigned most_mtu = 9000;
constexpr unsigned most_port = 65535;
constexpr MacAddress usual_mac = {0x52, 0x54, 0x00, 0x12, 0x34, 0x56};
constexpr const char* forms =
    "none, user[,host-loopback][,mtu=68..9000][,tcp=[HOSTADDR:]HOSTPORT:GUESTPORT][,udp=...], "
    "tap=NAME, switch=SOCKET or interface=NAME; behind the last four [,mac=52:54:..]";

// All of the text must be a number without a sign.
std::optional<unsigned> parse_number(std::string_view text, int base, unsigned least, unsigned most) {
    unsigned number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
    if (error != std::errc() || end != text.data() + text.size() || number < least || number > most) {
        return {};
    }
    return number;
}

// Returns the text before the next separator, and removes both.
std::string_view take_up_to(std::string_view& text, char separator) {
    const std::size_t end = std::min(text.find(separator), text.size());
    const std::string_view taken = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return taken;
}

std::optional<MacAddress> parse_mac(std::string_view text) {
    constexpr std::size_t characters = 17;
    constexpr std::uint8_t group = 1;
    MacAddress mac{};
    if (text.size() != characters) {
        return {};
    }
    for (std::uint8_t& byte : mac) {
        const std::string_view digits = take_up_to(text, ':');
        const auto number = parse_number(digits, 16, 0, 0xff);
        if (digits.size() != 2 || !number) {
            return {};
        }
        byte = static_cast<std::uint8_t>(*number);
    }
    return (mac[0] & group) != 0 || mac == MacAddress{} ? std::nullopt : std::optional(mac);
}

// Other machines reach no port, unless the user gives an address.
constexpr std::string_view usual_host_address = "127.0.0.1";

std::optional<PortForward> parse_forward(bool udp, std::string_view text) {
    std::array<std::string_view, 3> parts;
    std::size_t count = 0;
    for (std::string_view rest = text; count < parts.size(); ++count) {
        if (rest.empty()) {
            break;
        }
        parts.at(count) = take_up_to(rest, ':');
    }
    if (count < 2 || std::ranges::count(text, ':') != static_cast<std::ptrdiff_t>(count - 1)) {
        return {};
    }
    const std::string address(count == 3 ? parts[0] : usual_host_address);
    const auto host_port = parse_number(parts.at(count - 2), 10, 1, most_port);
    const auto guest_port = parse_number(parts.at(count - 1), 10, 1, most_port);
    in_addr ignored{};
    if (!host_port || !guest_port || inet_pton(AF_INET, address.c_str(), &ignored) != 1) {
        return {};
    }
    return PortForward{.udp = udp,
                       .host_address = address,
                       .host_port = static_cast<std::uint16_t>(*host_port),
                       .guest_port = static_cast<std::uint16_t>(*guest_port),
                       .text = (udp ? "udp=" : "tcp=") + std::string(text)};
}

// A random one, because several guests may be on a link.
MacAddress random_mac() {
    MacAddress mac = usual_mac;
    constexpr std::size_t vendor = 3;
    const std::span<std::uint8_t> rest = std::span(mac).subspan(vendor);
    if (getrandom(rest.data(), rest.size(), 0) != static_cast<ssize_t>(rest.size())) {
        throw InputError("getrandom: " + std::generic_category().message(errno));
    }
    return mac;
}

class Parser {
public:
    explicit Parser(std::string_view text) : text_(text) {}

    NetworkChoice parse() {
        std::string_view rest = text_;
        require(parse_kind(take_up_to(rest, ',')), text_.substr(0, text_.find(',')));
        bool more = text_.find(',') != std::string_view::npos;
        while (more) {
            more = rest.find(',') != std::string_view::npos;
            const std::string_view part = take_up_to(rest, ',');
            require(choice_.kind != NetworkKind::none && parse_part(part), part);
        }
        if (!has_mac_) {
            choice_.mac = choice_.kind == NetworkKind::user ? usual_mac : random_mac();
        }
        return std::move(choice_);
    }

private:
    void require(bool right, std::string_view part) const {
        if (!right) {
            throw InputError("--net " + std::string(text_) + ": '" + std::string(part) +
                             "' is not understood there; it is " + forms);
        }
    }

    bool parse_kind(std::string_view part) {
        constexpr std::string_view tap = "tap=";
        constexpr std::string_view by_switch = "switch=";
        constexpr std::string_view interface = "interface=";
        if (part == "user") {
            choice_.kind = NetworkKind::user;
        } else if (part.starts_with(tap)) {
            choice_.kind = NetworkKind::tap;
            choice_.name = part.substr(tap.size());
        } else if (part.starts_with(by_switch)) {
            choice_.kind = NetworkKind::by_switch;
            choice_.name = part.substr(by_switch.size());
        } else if (part.starts_with(interface)) {
            choice_.kind = NetworkKind::interface;
            choice_.name = part.substr(interface.size());
        } else {
            return part == "none";
        }
        return choice_.kind == NetworkKind::user || !choice_.name.empty();
    }

    bool parse_part(std::string_view part) {
        if (part == "host-loopback" && choice_.kind == NetworkKind::user && !choice_.host_loopback) {
            choice_.host_loopback = true;
            return true;
        }
        const std::string_view name = take_up_to(part, '=');
        if (name == "mac" && !has_mac_) {
            const auto mac = parse_mac(part);
            choice_.mac = mac.value_or(MacAddress{});
            has_mac_ = mac.has_value();
            return has_mac_;
        }
        if (choice_.kind == NetworkKind::user && name == "mtu" && !has_mtu_) {
            const auto mtu = parse_number(part, 10, least_mtu, most_mtu);
            choice_.mtu = mtu.value_or(0);
            has_mtu_ = mtu.has_value();
            return has_mtu_;
        }
        if (choice_.kind == NetworkKind::user && (name == "tcp" || name == "udp")) {
            const auto forward = parse_forward(name == "udp", part);
            if (forward) {
                choice_.forwards.push_back(*forward);
            }
            return forward.has_value();
        }
        return false;
    }

    std::string_view text_;
    NetworkChoice choice_;
    bool has_mac_ = false;
    bool has_mtu_ = false;
};

} // namespace

std::string text_of(std::span<const std::uint8_t> hardware_address) {
    std::string text;
    for (const std::uint8_t byte : hardware_address) {
        std::array<char, 3> digits{};
        std::snprintf(digits.data(), digits.size(), "%02x", byte);
        text += (text.empty() ? "" : ":") + std::string(digits.data());
    }
    return text;
}

NetworkChoice parse_network(std::string_view text) {
    return Parser(text).parse();
}

} // namespace previrt
