// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/pack/vmm_image.hpp"

#include "toolchain/image/file.hpp"
#include "toolchain/image/input_error.hpp"

#include <filesystem>

namespace previrt {

namespace {

struct Image {
    const char* name;
    const char* path;
};

Image image_of(Hypervisor hypervisor) {
    switch (hypervisor) {
    case Hypervisor::xen:
        return {.name = "Xen", .path = PREVIRT_VMM_XEN};
    case Hypervisor::kvm:
        return {.name = "KVM", .path = PREVIRT_VMM_KVM};
    case Hypervisor::kvm_privileged:
        break;
    }
    return {.name = "KVM's privileged mode", .path = PREVIRT_VMM_KVM_PRIVILEGED};
}

} // namespace

std::vector<std::uint8_t> read_vmm_image(Hypervisor hypervisor, const std::string& given) {
    if (!given.empty()) {
        return read_file(given);
    }
    const Image image = image_of(hypervisor);
    const std::string path = image.path;
    if (!std::filesystem::exists(path)) {
        throw InputError(path + ": the in-place VMM for " + image.name +
                         " is not built (cmake --build --preset release)");
    }
    return read_file(path);
}

} // namespace previrt
