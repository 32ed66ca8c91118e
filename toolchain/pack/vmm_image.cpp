// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/pack/vmm_image.hpp"

#include "toolchain/image/file.hpp"
#include "toolchain/image/input_error.hpp"

#include <filesystem>

namespace previrt {

std::vector<std::uint8_t> read_vmm_image(Hypervisor hypervisor, const std::string& given) {
    if (!given.empty()) {
        return read_file(given);
    }
    const bool xen = hypervisor == Hypervisor::xen;
    const std::string path = xen ? PREVIRT_VMM_XEN : PREVIRT_VMM_KVM;
    if (!std::filesystem::exists(path)) {
        throw InputError(path + ": the in-place VMM for " + (xen ? "Xen" : "KVM") +
                         " is not built (cmake --build --preset release)");
    }
    return read_file(path);
}

} // namespace previrt
