// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/linux/make_progress.hpp"

#include <array>
#include <cstdio>
#include <iostream>
#include <unistd.h>

namespace previrt {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t longest_step = 60;

// "  CC      mm/slub.o" is a step; "make[1]: ..." and warnings are not.
bool is_step(std::string_view text) {
    return text.size() > 10 && text.starts_with("  ") && text[2] >= 'A' && text[2] <= 'Z';
}

} // namespace

MakeProgress::MakeProgress(const std::string& what)
    : begin_(std::chrono::steady_clock::now()), shown_(begin_), terminal_(isatty(STDERR_FILENO) != 0) {
    std::cerr << "previrt: " << what << '\n';
}

void MakeProgress::line(std::string_view text) {
    if (!is_step(text)) {
        return;
    }
    ++steps_;
    const auto now = std::chrono::steady_clock::now();
    if (now - shown_ >= (terminal_ ? 100ms : 30s)) {
        shown_ = now;
        show(text);
    }
}

void MakeProgress::finish() {
    show("done");
    if (terminal_) {
        std::cerr << '\n';
    }
}

void MakeProgress::show(std::string_view step) {
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin_).count();
    std::array<char, 32> time{};
    std::snprintf(time.data(), time.size(), "  %2d:%02d  %5u steps  ", static_cast<int>(seconds / 60),
                  static_cast<int>(seconds % 60), steps_);
    std::cerr << (terminal_ ? "\r\033[K" : "") << time.data() << step.substr(0, longest_step)
              << (terminal_ ? "" : "\n") << std::flush;
}

} // namespace previrt
