// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace previrt {

enum class Hypervisor : std::uint8_t { xen, kvm, kvm_privileged };

// The in-place VMM for it: the file that was given, or else the one that was built with this previrt. Throws
// InputError.
std::vector<std::uint8_t> read_vmm_image(Hypervisor hypervisor, const std::string& given = {});

} // namespace previrt
