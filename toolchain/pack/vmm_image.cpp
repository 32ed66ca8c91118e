// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/pack/vmm_image.hpp"

#include "host/file.hpp"
#include "host/input_error.hpp"
#include "host/tree.hpp"

#include <filesystem>

namespace previrt {

namespace {

struct Image {
    const char* name;
    std::string path;
};

Image image_of(Hypervisor hypervisor) {
    switch (hypervisor) {
    case Hypervisor::xen:
        return {.name = "Xen", .path = built_file(PREVIRT_VMM_DIRECTORY "/previrt-xen")};
    case Hypervisor::kvm:
        return {.name = "KVM", .path = built_file(PREVIRT_VMM_DIRECTORY "/previrt-kvm")};
    case Hypervisor::process:
        return {.name = "a process", .path = built_file(PREVIRT_VMM_DIRECTORY "/previrt-process")};
    case Hypervisor::kvm_privileged:
        break;
    }
    return {.name = "KVM's privileged mode",
            .path = built_file(PREVIRT_VMM_DIRECTORY "/previrt-kvm-privileged")};
}

} // namespace

std::string vmm_image_path(Hypervisor hypervisor) {
    const Image image = image_of(hypervisor);
    if (!std::filesystem::exists(image.path)) {
        throw InputError(image.path + ": the in-place VMM for " + image.name +
                         " is not built (cmake --build --preset release)");
    }
    return image.path;
}

std::vector<std::uint8_t> read_vmm_image(Hypervisor hypervisor, const std::string& given) {
    return read_file(given.empty() ? vmm_image_path(hypervisor) : given);
}

} // namespace previrt
