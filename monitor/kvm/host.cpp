// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/kvm/host.hpp"
#include "monitor/kvm/interface.hpp"

#include "host/input_error.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <grp.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <system_error>

namespace previrt {

namespace {

constexpr const char* elsewhere = "; --on bare and --on xen need no KVM";

struct Capability {
    int number;
    const char* name;
};
constexpr auto needed = std::to_array<Capability>({
    {.number = KVM_CAP_IRQCHIP, .name = "IRQCHIP"},
    {.number = KVM_CAP_USER_MEMORY, .name = "USER_MEMORY"},
    {.number = KVM_CAP_EXT_CPUID, .name = "EXT_CPUID"},
    {.number = KVM_CAP_IOEVENTFD, .name = "IOEVENTFD"},
    {.number = KVM_CAP_IRQFD, .name = "IRQFD"},
    {.number = KVM_CAP_IRQ_ROUTING, .name = "IRQ_ROUTING"},
    {.number = KVM_CAP_MP_STATE, .name = "MP_STATE"},
    {.number = KVM_CAP_GET_TSC_KHZ, .name = "GET_TSC_KHZ"},
    {.number = KVM_CAP_IMMEDIATE_EXIT, .name = "IMMEDIATE_EXIT"},
});

void check_capabilities(const std::string& path, const KvmQuestion& ask) {
    std::string missing;
    for (const Capability& capability : needed) {
        if (ask(KVM_CHECK_EXTENSION, capability.number) <= 0) {
            missing += std::string(missing.empty() ? "" : ", ") + capability.name;
        }
    }
    if (!missing.empty()) {
        throw InputError(path + ": this host's KVM lacks " + missing + ": it takes a Linux of 4.11 or later" +
                         elsewhere);
    }
}

// Debian gives permission to a group, some containers to root alone.
std::string way_to_permission(const std::string& path) {
    constexpr mode_t group_may = S_IRGRP | S_IWGRP;
    struct stat file{};
    if (stat(path.c_str(), &file) == 0 && (file.st_mode & group_may) == group_may) {
        const group* const its_group = getgrgid(file.st_gid); // NOLINT(concurrency-mt-unsafe): no thread yet
        return "usermod --append --groups " +
               (its_group != nullptr ? std::string(its_group->gr_name) : std::to_string(file.st_gid)) +
               " USER, then log in again";
    }
    return "as root: chgrp kvm " + path + " && chmod 660 " + path +
           " && usermod --append --groups kvm USER, then log in again";
}

} // namespace

int kvm_request(const Descriptor& descriptor, unsigned long request, const char* name,
                std::uintptr_t argument) {
    const int result = ioctl(descriptor.number(), request, argument);
    if (result < 0) {
        throw InputError(std::string("the host's KVM refuses ") + name + ": " +
                         std::generic_category().message(errno) + elsewhere);
    }
    return result;
}

void add_kvm_memory(const Descriptor& machine, std::uint32_t slot, std::uint64_t physical,
                    std::span<std::uint8_t> bytes) {
    kvm_userspace_memory_region region{};
    region.slot = slot;
    region.guest_phys_addr = physical;
    region.memory_size = bytes.size();
    region.userspace_addr = reinterpret_cast<std::uintptr_t>(bytes.data());
    kvm_request(machine, KVM_SET_USER_MEMORY_REGION, "KVM_SET_USER_MEMORY_REGION", &region);
}

std::string kvm_open_failure(const std::string& path, int error) {
    std::string remedy;
    switch (error) {
    case ENOENT:
    case ENODEV:
    case ENXIO:
        remedy = ": this host has no KVM (modprobe kvm_intel or kvm_amd, with virtualization switched on in "
                 "the firmware, or nested where this is a virtual machine)";
        break;
    case EACCES:
    case EPERM:
        remedy = ": you may not use it (" + way_to_permission(path) + ")";
        break;
    default:
        break;
    }
    return path + ": " + std::generic_category().message(error) + remedy + elsewhere;
}

void check_kvm(const std::string& path, const KvmQuestion& ask) {
    const int version = ask(KVM_GET_API_VERSION, 0);
    if (version < 0) {
        throw InputError(path + ": it is not KVM: " + std::generic_category().message(errno) + elsewhere);
    }
    if (version != KVM_API_VERSION) {
        throw InputError(path + ": it speaks version " + std::to_string(version) +
                         " of KVM's interface, not " + std::to_string(KVM_API_VERSION) +
                         ": it takes a Linux of 4.11 or later" + elsewhere);
    }
    check_capabilities(path, ask);
}

Descriptor open_kvm(const std::string& path) {
    Descriptor kvm(open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (kvm.number() < 0) {
        throw InputError(kvm_open_failure(path, errno));
    }
    check_kvm(path,
              [&](unsigned long request, int argument) { return ioctl(kvm.number(), request, argument); });
    return kvm;
}

} // namespace previrt
