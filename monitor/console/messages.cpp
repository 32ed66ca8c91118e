// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/console/messages.hpp"

#include <iostream>
#include <unistd.h>

namespace previrt {

namespace {

constexpr std::chrono::seconds read_within{2};

} // namespace

Messages::Messages() : pump_(STDERR_FILENO), before_(std::cerr.rdbuf(this)) {}

Messages::~Messages() {
    std::cerr.rdbuf(before_);
    if (detached_) {
        pump_.finish(read_within);
    }
}

void Messages::detach() {
    if (!detached_.exchange(true)) {
        pump_.start();
    }
}

int Messages::overflow(int character) {
    const char one = static_cast<char>(character);
    return character == traits_type::eof() || xsputn(&one, 1) == 1 ? traits_type::not_eof(character)
                                                                   : traits_type::eof();
}

std::streamsize Messages::xsputn(const char* text, std::streamsize size) {
    if (!detached_) {
        return before_->sputn(text, size);
    }
    const std::lock_guard lock(mutex_);
    pump_.write({text, static_cast<std::size_t>(size)});
    return size;
}

} // namespace previrt
