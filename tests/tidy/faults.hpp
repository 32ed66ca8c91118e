// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace faults {

struct Place {
    int* address = 0; // modernize-use-nullptr
};

} // namespace faults
