// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/console/terminal.hpp"

#include <cctype>
#include <unistd.h>

namespace previrt {

namespace {

constexpr std::size_t longest_line = 4096;

} // namespace

RawTerminal::RawTerminal() {
    termios mode{};
    if (isatty(STDIN_FILENO) == 0 || tcgetattr(STDIN_FILENO, &mode) != 0) {
        return;
    }
    saved_ = mode;
    cfmakeraw(&mode);
    tcsetattr(STDIN_FILENO, TCSANOW, &mode);
}

RawTerminal::~RawTerminal() {
    if (saved_) {
        // Not TCSAFLUSH, which waits for output: a stopped line never sends it.
        tcflush(STDIN_FILENO, TCIFLUSH);
        tcsetattr(STDIN_FILENO, TCSANOW, &*saved_);
    }
}

bool ConsoleWatch::may_be_at_prompt() const {
    if (line_.empty() || line_ == "[") {
        return false;
    }
    return line_[0] != '[' || (line_[1] != ' ' && std::isdigit(static_cast<unsigned char>(line_[1])) == 0);
}

void ConsoleWatch::read(std::string_view output) {
    for (const char character : output) {
        if (character == '\n') {
            read_line();
            line_.clear();
        } else if (character != '\r' && line_.size() < longest_line) {
            line_ += character;
        }
    }
}

void ConsoleWatch::read_line() {
    const std::size_t panic = line_.find("Kernel panic - not syncing");
    if (panic != std::string::npos && panic_.empty()) {
        panic_ = line_.substr(panic);
    }
    // With or without a time stamp in front, but not in the middle of a program's output.
    const std::size_t text = line_.starts_with('[') ? line_.find("] ") : std::string::npos;
    const std::string_view message = std::string_view(line_).substr(text == std::string::npos ? 0 : text + 2);
    goodbye_ = goodbye_ || message.starts_with("reboot: ") || line_ == "guest: end";
}

} // namespace previrt
