// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt {

// Reads a guest's console for what Linux says when it panics.
class PanicWatch {
public:
    // True at the end of the first line that says so.
    bool read(char character);

private:
    unsigned matched_ = 0; // characters of the text
    bool told_ = false;
};

} // namespace previrt
