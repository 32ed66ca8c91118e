// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// The segments of the last return to 64-bit user mode, and their descriptors in the guest's GDT, which
// allowed it. A return to the same ones is allowed while the descriptors are the same.
struct UsualReturn {
    std::uint64_t code; // the selector; 0: there was none by this GDT
    std::uint64_t stack;
    std::uint64_t code_descriptor;
    std::uint64_t stack_descriptor;
};

extern "C" UsualReturn usual_return; // a back-end's entry.S reads it too

} // namespace previrt
