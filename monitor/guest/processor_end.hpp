// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace previrt {

// The end of a virtual processor.
struct ProcessorEnd {
    bool guest_rang = false; // the doorbell of its end
    std::string failure;     // empty if another thread stopped it
};

} // namespace previrt
