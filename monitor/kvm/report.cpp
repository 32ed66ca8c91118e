// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/kvm/report.hpp"

#include "backends/kvm/deprivileged/contract/layout.hpp"
#include "monitor/kvm/interface.hpp"
#include "toolchain/image/places.hpp"

#include <map>

namespace previrt {

namespace {

using namespace kvm;

constexpr std::uint64_t kib = 1024;

std::string size(std::uint64_t bytes) {
    return bytes % (kib * kib) == 0 ? std::to_string(bytes / (kib * kib)) + " MiB"
                                    : std::to_string((bytes + kib - 1) / kib) + " KiB";
}

std::string name_of_exit(std::uint32_t reason) {
    static const std::map<std::uint32_t, std::string> names = {
        {KVM_EXIT_IO, "port"},
        {KVM_EXIT_HLT, "HLT"},
        {KVM_EXIT_MMIO, "MMIO"},
        {KVM_EXIT_SHUTDOWN, "triple fault"},
        {KVM_EXIT_INTR, "signal"},
        {KVM_EXIT_IRQ_WINDOW_OPEN, "interrupt window"},
        {KVM_EXIT_SET_TPR, "CR8"},
        {KVM_EXIT_FAIL_ENTRY, "refused state"},
        {KVM_EXIT_INTERNAL_ERROR, "internal error"},
    };
    const auto found = names.find(reason);
    return found == names.end() ? "reason " + std::to_string(reason) : found->second;
}

} // namespace

std::string describe(KvmMode mode) {
    return mode == KvmMode::interpreted
               ? "level 0 is interpreted, so guest, VMM and programs run at level 3 (deprivileged mode)"
               : "level 0 is the processor's (privileged mode)";
}

void describe_layout(std::ostream& output, const KvmLayout& layout, UserMode user_mode) {
    output << "previrt: KVM: memory slot 0: the guest's RAM, " << size(layout.ram_bytes) << " at "
           << hex(layout.ram_base) << '\n'
           << "previrt: KVM: memory slot 1: the VMM's, " << size(layout.vmm_bytes) << " at "
           << hex(layout.physical(0)) << ": image " << size(layout.root) << ", package "
           << size(layout.package.bytes) << " at " << hex(layout.physical(layout.package.offset)) << ", free "
           << size(layout.free.bytes) << " at " << hex(layout.physical(layout.free.offset)) << '\n'
           << "previrt: KVM: the VMM is at " << hex(image_address) << ", its map of all memory at "
           << hex(layout.map_address) << "; the guest's user mode has page tables "
           << (user_mode == UserMode::isolated ? "of its own" : "that are its kernel's") << '\n';
}

void describe_exits(std::ostream& output, const KvmExits& exits, const std::vector<KvmStat>& stats) {
    output << "previrt: KVM: exits to the monitor:";
    const char* separator = " ";
    for (const auto& [reason, count] : exits) {
        output << separator << name_of_exit(reason) << ' ' << count;
        separator = ", ";
    }
    output << (exits.empty() ? " none" : "") << "\nprevirt: KVM: its own counts:";
    separator = " ";
    for (const KvmStat& stat : stats) {
        output << separator << stat.name << ' ' << stat.value;
        separator = ", ";
    }
    output << (stats.empty() ? " it tells none" : "") << '\n';
}

} // namespace previrt
