// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace previrt {

enum class Hypervisor : std::uint8_t { xen, kvm, kvm_privileged, process };

// The in-place VMM for the hypervisor, as built with this previrt. Throws InputError if there is none.
std::string vmm_image_path(Hypervisor hypervisor);
// Reads it, or the given file.
std::vector<std::uint8_t> read_vmm_image(Hypervisor hypervisor, const std::string& given = {});

} // namespace previrt
