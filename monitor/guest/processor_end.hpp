// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace previrt {

// How a virtual processor came to its end.
struct ProcessorEnd {
    bool guest_rang = false; // the doorbell for it
    std::string failure;     // empty where it was stopped
};

} // namespace previrt
