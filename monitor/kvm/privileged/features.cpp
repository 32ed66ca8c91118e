// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/kvm/privileged/features.hpp"

#include "monitor/kvm/host.hpp"
#include "monitor/kvm/interface.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>

namespace previrt {

namespace {

constexpr std::uint32_t bit(unsigned number) {
    return 1U << number;
}

// Bits that are hidden.
struct Hidden {
    std::uint32_t leaf;
    std::uint32_t ebx;
    std::uint32_t ecx;
    std::uint32_t edx;
};

constexpr Hidden hidden[] = {
    // MONITOR, VMX, SMX, PCID, x2APIC, TSC deadline; machine checks, HTT.
    {0x1, 0xffff0000, bit(3) | bit(5) | bit(6) | bit(17) | bit(21) | bit(24), bit(7) | bit(14) | bit(28)},
    // INVPCID; 5 levels.
    {0x7, bit(10), bit(16), 0},
    // SVM, extended APIC, topology.
    {0x80000001, 0, bit(1) | bit(2) | bit(3) | bit(22), 0},
};

// The local APIC, in either leaf: with one processor interrupts come by the 8259.
constexpr Hidden apic[] = {{0x1, 0, 0, bit(9)}, {0x80000001, 0, 0, bit(9)}};

constexpr std::uint32_t kvm_interface = 0x40000000;
constexpr std::uint32_t kvm_features = kvm_interface + 1;

// Topology: each processor is a package of its own. Other hypervisors, whose interfaces a KVM may offer too.
bool is_whole_leaf_hidden(std::uint32_t leaf) {
    constexpr std::uint32_t topology = 0xb;
    constexpr std::uint32_t topology_2 = 0x1f;
    constexpr std::uint32_t amd_topology = 0x8000001e;
    constexpr std::uint32_t of_hypervisors = 0x40000000;
    return leaf == topology || leaf == topology_2 || leaf == amd_topology ||
           ((leaf & ~0xffU) == of_hypervisors && leaf != kvm_interface && leaf != kvm_features);
}

// KVM's own interface offers the stolen time, as in all places (frontends/x86/processor/stolen_time.hpp), and
// no devices.
void reduce_interface(kvm_cpuid_entry2& entry) {
    constexpr std::uint32_t stolen_time = bit(5);
    if (entry.function == kvm_interface) {
        entry.eax = kvm_features;
    } else if (entry.function == kvm_features) {
        entry.eax &= stolen_time;
        entry.edx = 0;
    }
}

void hide(kvm_cpuid_entry2& entry, std::span<const Hidden> list) {
    for (const Hidden& what : list) {
        if (what.leaf == entry.function && entry.index == 0) {
            entry.ebx &= ~what.ebx;
            entry.ecx &= ~what.ecx;
            entry.edx &= ~what.edx;
        }
    }
}

} // namespace

// KVM's CPUID shows the APIC if this base enables it, whatever CPUID KVM was given.
void switch_local_apic_off(const Descriptor& processor) {
    kvm_sregs registers{};
    kvm_request(processor, KVM_GET_SREGS, "KVM_GET_SREGS", &registers);
    registers.apic_base = 0;
    kvm_request(processor, KVM_SET_SREGS, "KVM_SET_SREGS", &registers);
}

namespace {

// With QEMU's emulated SVM, a guest's XSETBV does not reach KVM, whose CPUID would keep giving sizes for the
// reset value. A kernel sets XCR0 anyway before it asks.
void enable_extended_states(const Descriptor& processor, std::uint32_t supported) {
    constexpr std::uint32_t x87_sse_avx = 7;
    kvm_xcrs registers{};
    registers.nr_xcrs = 1;
    registers.xcrs[0].value = supported & x87_sse_avx;
    kvm_request(processor, KVM_SET_XCRS, "KVM_SET_XCRS", &registers);
}

// KVM's local APIC has the timer of the time-stamp counter, but its CPUID leaves that to the monitor.
bool has_deadline_timer(const Descriptor& kvm) {
    return kvm_request(kvm, KVM_CHECK_EXTENSION, "KVM_CHECK_EXTENSION",
                       std::uintptr_t{KVM_CAP_TSC_DEADLINE_TIMER}) > 0;
}

void set_cpuid(const Descriptor& kvm, const Descriptor& processor,
               const std::function<void(kvm_cpuid_entry2&)>& change) {
    constexpr unsigned most = 256; // the most that KVM gives
    KvmList<kvm_cpuid2> features(most);
    features->nent = most;
    kvm_request(kvm, KVM_GET_SUPPORTED_CPUID, "KVM_GET_SUPPORTED_CPUID", features.get());
    kvm_cpuid_entry2* const first = &features->entries[0];
    kvm_cpuid_entry2* const end = std::remove_if(first, first + features->nent, [](const auto& entry) {
        return is_whole_leaf_hidden(entry.function);
    });
    features->nent = static_cast<std::uint32_t>(end - first);
    std::for_each(first, end, [&](kvm_cpuid_entry2& entry) {
        hide(entry, hidden);
        reduce_interface(entry);
        if (entry.function == 1) {
            entry.ebx |= bit(16); // one logical processor
        }
        change(entry);
    });
    kvm_request(processor, KVM_SET_CPUID2, "KVM_SET_CPUID2", features.get());
    const kvm_cpuid_entry2* const states =
        std::find_if(first, end, [](const auto& entry) { return entry.function == 0xd && entry.index == 0; });
    if (states != end && states->eax != 0) {
        enable_extended_states(processor, states->eax);
    }
}

} // namespace

void set_features(const Descriptor& kvm, const Descriptor& processor) {
    switch_local_apic_off(processor);
    set_cpuid(kvm, processor, [](kvm_cpuid_entry2& entry) { hide(entry, apic); });
}

void set_features_of_several(const Descriptor& kvm, const Descriptor& processor, unsigned number) {
    const std::uint32_t deadline = has_deadline_timer(kvm) ? bit(24) : 0;
    set_cpuid(kvm, processor, [&](kvm_cpuid_entry2& entry) {
        if (entry.function == 1) {
            constexpr unsigned apic_id_shift = 24;
            entry.ebx |= number << apic_id_shift;
            entry.ecx |= deadline;
        }
    });
}

} // namespace previrt
