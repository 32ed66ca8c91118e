// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string_view>

namespace previrt {

struct Hex {
    std::uint64_t value;
    unsigned digits = 0; // at least
};

// Collects text for the console and hands it over in one piece.
class Print {
public:
    Print() = default;
    Print(const Print&) = delete;
    Print& operator=(const Print&) = delete;
    Print(Print&&) = delete;
    Print& operator=(Print&&) = delete;
    ~Print() { flush(); }

    Print& operator<<(std::string_view text);
    Print& operator<<(const char* text) { return *this << std::string_view(text); }
    Print& operator<<(char character) { return *this << std::string_view(&character, 1); }
    Print& operator<<(std::uint64_t number);
    Print& operator<<(unsigned number) { return *this << std::uint64_t{number}; }
    Print& operator<<(Hex number);

private:
    void flush();

    char text_[256];
    unsigned length_ = 0;
};

} // namespace previrt
