// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/nested/report.hpp"

#include <charconv>
#include <utility>

namespace previrt {

namespace {

std::optional<int> exit_status_in(std::string_view text) {
    int status = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), status);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    return whole && status >= 0 && status <= 255 ? std::optional<int>(status) : std::nullopt;
}

} // namespace

NestedReport::NestedReport(Message message) : message_(std::move(message)) {}

void NestedReport::read(std::string_view text) {
    for (const char character : text) {
        if (character != '\n') {
            line_ += character;
        } else {
            read_line(std::exchange(line_, {}));
        }
    }
}

void NestedReport::read_line(std::string_view line) {
    const std::size_t space = line.find(' ');
    const std::string_view word = line.substr(0, space);
    const std::string_view text =
        space == std::string_view::npos ? std::string_view() : line.substr(space + 1);
    if (word == "begin") {
        begun_ = true;
    } else if (word == "message") {
        message_(text);
    } else if (word == "stats") {
        counters_ += std::string(text) + '\n';
    } else if (word == "end") {
        status_ = exit_status_in(text);
    }
}

} // namespace previrt
