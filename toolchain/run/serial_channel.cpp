// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/run/serial_channel.hpp"

#include "toolchain/image/input_error.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace previrt {

SerialChannel::SerialChannel(const std::string& path, Reader reader) : reader_(std::move(reader)) {
    if (mkfifo(path.c_str(), S_IRUSR | S_IWUSR) == 0) {
        fifo_ = Descriptor(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    }
    if (fifo_.number() < 0) {
        throw InputError(path + ": " + std::generic_category().message(errno));
    }
}

void SerialChannel::read() {
    std::array<char, 4096> block{};
    ssize_t got = 0;
    while (open_ && (got = ::read(fifo_.number(), block.data(), block.size())) > 0) {
        heard_ = true;
        reader_({block.data(), static_cast<std::size_t>(got)});
    }
    // Before QEMU has opened it there is nobody at its other end either.
    open_ = open_ && (got < 0 || !heard_);
}

} // namespace previrt
