// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "toolchain/host/program.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace previrt {

// A further serial line of a machine, on which it only speaks: a FIFO that QEMU writes.
class SerialChannel {
public:
    using Reader = std::function<void(std::string_view text)>;

    // Makes the FIFO. Throws InputError.
    SerialChannel(const std::string& path, Reader reader);

    // To be polled; -1 once the machine has gone.
    [[nodiscard]] int descriptor() const { return open_ ? fifo_.number() : -1; }
    // Hands all that has come to the reader.
    void read();

private:
    Descriptor fifo_;
    Reader reader_;
    bool open_ = true;
    bool heard_ = false;
};

} // namespace previrt
