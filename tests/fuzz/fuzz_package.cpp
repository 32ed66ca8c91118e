// SPDX-License-Identifier: BSD-2-Clause
// The VMM's loader on any package: it loads it or says why not.
#include "tests/unit/vmm/load_package.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    (void)previrt::load_package({data, size});
    return 0;
}
