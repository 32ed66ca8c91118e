// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/console/line_sieve.hpp"

#include <algorithm>
#include <utility>

namespace previrt {

namespace {

constexpr std::size_t longest_line = 65536; // a longer line loses its end

} // namespace

LineSieve::LineSieve(std::vector<std::string> marks, Taken taken)
    : marks_(std::move(marks)), taken_(std::move(taken)) {}

const std::string* LineSieve::mark_that_is_held() const {
    const auto found = std::ranges::find(marks_, held_);
    return found == marks_.end() ? nullptr : &*found;
}

bool LineSieve::may_become_a_mark() const {
    return std::ranges::any_of(marks_, [&](const std::string& mark) { return mark.starts_with(held_); });
}

void LineSieve::read_in_line(char character) {
    if (character == '\n') {
        while (line_.ends_with('\r')) {
            line_.pop_back();
        }
        taken_(*mark_, line_);
        line_.clear();
        mark_ = nullptr;
    } else if (line_.size() < longest_line) {
        line_ += character;
    }
}

std::string LineSieve::read(std::string_view text) {
    std::string left;
    for (const char character : text) {
        if (mark_ != nullptr) {
            read_in_line(character);
            continue;
        }
        held_ += character;
        while (!held_.empty() && !may_become_a_mark()) {
            if (released_ > 0) {
                --released_;
            } else {
                left += held_.front();
            }
            held_.erase(0, 1);
        }
        mark_ = mark_that_is_held();
        if (mark_ != nullptr) {
            held_.clear();
            released_ = 0;
        }
    }
    return left;
}

std::string LineSieve::release() {
    return held_.substr(std::exchange(released_, held_.size()));
}

} // namespace previrt
