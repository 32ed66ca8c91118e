// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/console/vmm_console.hpp"

#include "inplace-vmm/package.hpp"

#include <algorithm>
#include <iostream>

namespace previrt {

namespace {

// A guest can print such lines too, without end.
constexpr unsigned most_notes = 64;
constexpr std::size_t longest_note = 200;

void tell_note(std::string_view text) {
    std::string line = "previrt: the VMM notes: " + std::string(text.substr(0, longest_note)) + '\n';
    std::replace_if(
        line.begin(), line.end() - 1, [](char character) { return character < ' ' || character > '~'; }, '?');
    std::cerr << line << std::flush;
}

} // namespace

VmmConsole::VmmConsole()
    : sieve_({end_line_prefix, counters_line_prefix, note_line_prefix},
             [this](const std::string& mark, std::string_view text) {
                 if (mark != note_line_prefix) {
                     (mark == end_line_prefix ? end_ : counters_) = std::string(text);
                 } else if (notes_ < most_notes) {
                     ++notes_;
                     tell_note(text);
                 }
             }) {}

std::string VmmConsole::read(std::string_view output) {
    std::string guest;
    for (const char character : output) {
        const std::string left = sieve_.read({&character, 1});
        if (left.find_first_not_of("\r\n") != std::string::npos) {
            end_.reset();
        }
        guest += left;
    }
    return guest;
}

} // namespace previrt
