// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/port/choice.hpp"

#include "host/input_error.hpp"
#include "inplace-vmm/backend/console_port.hpp"

#include <algorithm>
#include <charconv>
#include <fcntl.h>
#include <string_view>
#include <utility>

namespace previrt {

namespace {

// Of an open descriptor; empty: -1.
int parse_descriptor(const std::string& option, std::string_view text) {
    if (text.empty()) {
        return -1;
    }
    int number = -1;
    const std::string digits(text);
    const char* const end = digits.data() + digits.size();
    const auto [stopped, error] = std::from_chars(digits.data(), end, number);
    if (error != std::errc() || stopped != end || number < 0 || fcntl(number, F_GETFD) < 0) {
        throw InputError(option + ": '" + std::string(text) + "' is no number of an open descriptor");
    }
    return number;
}

PortChoice parse_port(const std::string& text) {
    const std::string option = "--port " + text;
    const std::size_t colon = text.find(':');
    if (colon == std::string::npos) {
        throw InputError(option + ": it is IN:OUT:NAME, or IN:OUT for a console");
    }
    const std::size_t second = std::min(text.find(':', colon + 1), text.size());
    PortChoice port{
        .number = 0,
        .name = second == text.size() ? "" : text.substr(second + 1),
        .input = parse_descriptor(option, std::string_view(text).substr(0, colon)),
        .output = parse_descriptor(option, std::string_view(text).substr(colon + 1, second - colon - 1))};
    if ((second != text.size() && port.name.empty()) || port.name.size() > backend::most_port_name_bytes) {
        throw InputError(option + ": a name has 1 to " + std::to_string(backend::most_port_name_bytes) +
                         " bytes");
    }
    return port;
}

} // namespace

std::vector<PortChoice> parse_ports(const RunOptions& options) {
    std::vector<PortChoice> ports;
    unsigned named = 0;
    for (const std::string& text : options.ports) {
        PortChoice port = parse_port(text);
        if (std::ranges::find(ports, port.name, &PortChoice::name) != ports.end()) {
            throw InputError("--port " + text + ": there is another " +
                             (port.name.empty() ? "console" : "one of this name"));
        }
        port.number = port.name.empty() ? 0 : ++named;
        if (named >= backend::most_console_ports) {
            throw InputError("--port " + text + ": a guest has " +
                             std::to_string(backend::most_console_ports - 1) +
                             " ports with names at most, and a console");
        }
        ports.push_back(std::move(port));
    }
    return ports;
}

} // namespace previrt
