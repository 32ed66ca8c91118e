// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <termios.h>

namespace previrt {

// Gives the terminal to the guest in raw mode: every key goes to the guest, until this is destroyed. Unread
// keys are then discarded. Does nothing if standard input is no terminal.
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

// Reads the guest's console for messages about its end.
class ConsoleWatch {
public:
    void read(std::string_view output);

    // "Kernel panic - not syncing: ..."
    [[nodiscard]] const std::string& panic() const { return panic_; }
    // "reboot: ..." of Linux, "guest: end" of tests/guests: the kernel is done, and resets, powers off or
    // halts.
    [[nodiscard]] bool said_goodbye() const { return goodbye_; }
    // An unfinished line that does not begin as Linux's messages do, "[    1.234567] ": a prompt, if no more
    // text comes.
    [[nodiscard]] bool may_be_at_prompt() const;

private:
    void read_line();

    std::string line_;
    std::string panic_;
    bool goodbye_ = false;
};

} // namespace previrt
