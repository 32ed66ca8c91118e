// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/nested/console.hpp"

#include <iostream>
#include <unistd.h>
#include <utility>

namespace previrt {

namespace {

constexpr std::size_t most_lines = 60;

// The terminal is raw if it is the guest's.
void print_line(std::string_view text) {
    std::cerr << text << (isatty(STDIN_FILENO) != 0 ? "\r\n" : "\n");
}

// The outer previrt has already printed the kernel's name.
void pass_on(std::string_view message) {
    if (!message.starts_with("previrt: ") || message.find(" (sha256 ") == std::string_view::npos) {
        print_line(message);
    }
}

} // namespace

NestedConsole::NestedConsole(const RunOptions& options) : options_(options), report_(pass_on) {}

void NestedConsole::read_log(std::string_view text) {
    watch_.read(text);
    for (const char character : text) {
        if (character == '\n') {
            if (options_.verbose) {
                print_line("(Linux) " + line_);
            }
            lines_.push_back(std::exchange(line_, {}));
            if (lines_.size() > most_lines) {
                lines_.pop_front();
            }
        } else if (character != '\r') {
            line_ += character;
        }
    }
}

bool NestedConsole::began_too_late() const {
    return !report_.begun() && std::chrono::steady_clock::now() - start_ > begins_within;
}

bool NestedConsole::say_why_it_failed() const {
    if (began_too_late()) {
        std::cerr << "previrt: there was no Linux with KVM within " << begins_within.count() << " s\n";
        return true;
    }
    if (!watch_.panic().empty()) {
        std::cerr << "previrt: the Linux with KVM failed: " << watch_.panic() << '\n';
        return true;
    }
    return false;
}

void NestedConsole::print_log() const {
    if (!options_.verbose && !lines_.empty()) {
        std::cerr << "previrt: its last lines:\n";
        for (const std::string& line : lines_) {
            std::cerr << line << '\n';
        }
    }
}

} // namespace previrt
