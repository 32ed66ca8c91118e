// SPDX-License-Identifier: BSD-2-Clause
// For back-ends that let a kernel run where it was linked: its own tables place it there.
#include "backends/common/ring3/layout_constants.hpp"
#include "inplace-vmm/backend/kernel_placement.hpp"
#include "inplace-vmm/backend/sites.hpp"

namespace previrt {

Treatment treat_layout_constant(const KnownSite& /*site*/) {
    return {};
}

std::optional<backend::AddressRange> backend::map_kernel_image(const KernelImage& /*image*/) {
    return std::nullopt;
}

} // namespace previrt
