// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

#include <functional>
#include <string_view>
#include <utility>

namespace previrt {

// A further serial line of a machine, for its output alone: a pipe that QEMU writes.
class SerialChannel {
public:
    using Reader = std::function<void(std::string_view text)>;

    // Throws InputError.
    explicit SerialChannel(Reader reader);

    // The machine's end. Call it once.
    [[nodiscard]] Descriptor take_machine_end() { return std::move(pipe_.write); }
    // For poll(); -1 once nobody has the machine's end.
    [[nodiscard]] int descriptor() const { return open_ ? pipe_.read.number() : -1; }
    // Hands all available output to the reader.
    void read();

private:
    Pipe pipe_;
    Reader reader_;
    bool open_ = true;
};

} // namespace previrt
