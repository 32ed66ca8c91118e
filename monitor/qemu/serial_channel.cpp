// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/qemu/serial_channel.hpp"

#include "host/input_error.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

namespace previrt {

SerialChannel::SerialChannel(Reader reader) : pipe_(make_pipe()), reader_(std::move(reader)) {
    if (fcntl(pipe_.read.number(), F_SETFL, O_NONBLOCK) != 0) {
        throw InputError("pipe: " + std::generic_category().message(errno));
    }
}

void SerialChannel::read() {
    std::array<char, 4096> block{};
    ssize_t got = 0;
    while (open_ && (got = ::read(pipe_.read.number(), block.data(), block.size())) > 0) {
        reader_({block.data(), static_cast<std::size_t>(got)});
    }
    open_ = open_ && got < 0;
}

} // namespace previrt
