// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt {

// Searches a guest's console output for Linux's panic message.
class PanicWatch {
public:
    // True at the end of the first line that has it.
    bool read(char character);

private:
    unsigned matched_ = 0; // characters of the message
    bool told_ = false;
};

} // namespace previrt
