// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt::kvm {

// CR2 after a page fault with this error code, whose registers are in the Vcpu. Level 0 reads CR2 only if the
// instruction does not tell the address for certain.
std::uint64_t find_fault_address(std::uint32_t error_code);

} // namespace previrt::kvm
