// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <termios.h>

namespace previrt {

// Our terminal as the guest's: every key goes to the guest, until this is destroyed; what nobody has read
// then is discarded. Nothing where standard input is no terminal.
class RawTerminal {
public:
    RawTerminal();
    ~RawTerminal();
    RawTerminal(const RawTerminal&) = delete;
    RawTerminal& operator=(const RawTerminal&) = delete;

    [[nodiscard]] bool active() const { return saved_.has_value(); }

private:
    std::optional<termios> saved_;
};

constexpr char end_guest_key = 0x1d; // Ctrl-]

// What a guest's console says of its end.
class ConsoleWatch {
public:
    void read(std::string_view output);

    // "Kernel panic - not syncing: ..."
    [[nodiscard]] const std::string& panic() const { return panic_; }
    // "reboot: ..." of Linux, "guest: end" of tests/guests: the kernel is through, and resets, powers off or
    // halts.
    [[nodiscard]] bool said_goodbye() const { return goodbye_; }
    // An unfinished line: a prompt, when nothing follows.
    [[nodiscard]] bool in_a_line() const { return !line_.empty(); }

private:
    void read_line();

    std::string line_;
    std::string panic_;
    bool goodbye_ = false;
};

} // namespace previrt
