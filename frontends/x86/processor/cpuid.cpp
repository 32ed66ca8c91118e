// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/processor/cpuid.hpp"

#include "frontends/x86/devices/machine.hpp"
#include "frontends/x86/devices/processor_apic.hpp"
#include "frontends/x86/paging/page_entry.hpp"
#include "frontends/x86/processor/stolen_time.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <algorithm>
#include <bit>

namespace previrt {

namespace {

constexpr std::uint32_t bit(unsigned number) {
    return 1U << number;
}

constexpr std::uint32_t osxsave = bit(27);                    // of leaf 1, ECX
constexpr std::uint32_t architectural_capabilities = bit(29); // of leaf 7, EDX
constexpr std::uint32_t highest_leaf = 0xd;
constexpr std::uint32_t highest_extended_leaf = 0x80000008;

// The part of the host's answer that the guest gets. A feature is hidden if it needs something that a guest
// in ring 3 cannot have, or something that is not modelled. The guest's user mode sees the host's own answer,
// so features that work there are passed.
struct Policy {
    std::uint32_t leaf;
    std::uint32_t eax;
    std::uint32_t ebx;
    std::uint32_t ecx;
    std::uint32_t edx;
};

constexpr std::uint32_t all = ~0U;

// A hypervisor may hide from its guests features that the shadow page tables provide: 4 MiB and 2 MiB pages,
// global pages.
constexpr std::uint32_t modelled_here = bit(3) | bit(13); // of leaf 1, EDX
constexpr std::uint32_t local_apic = bit(9);              // of the same register
constexpr std::uint32_t deadline_timer = bit(24);         // of leaf 1, ECX
constexpr std::uint32_t hypervisor = bit(31);             // of the same register
constexpr std::uint32_t timer_always_runs = bit(2);       // of the local APIC: leaf 6, EAX
constexpr std::uint32_t several_processors = bit(28);     // of leaf 1, EDX: HTT

constexpr Policy policies[] = {
    {0x0, 0, all, all, all},
    // Hidden in ECX: MONITOR, VMX, SMX, power and thermal, PCID, DCA, x2APIC.
    // Hidden in EDX: VME, MCE and MCA, SEP, MTRR, PSE36, serial number, debug store, ACPI, self snoop, HTT,
    // thermal.
    {0x1, all, 0x0000ff00,
     bit(0) | bit(1) | bit(9) | bit(12) | bit(13) | bit(19) | bit(20) | bit(22) | bit(23) | bit(25) |
         bit(26) | bit(28) | bit(29) | bit(30),
     bit(0) | bit(2) | bit(3) | bit(4) | bit(5) | bit(6) | bit(8) | bit(13) | bit(15) | bit(16) | bit(19) |
         bit(23) | bit(24) | bit(25) | bit(26)},
    {0x2, all, all, all, all},
    {0x4, 0x00003fff, all, all, all}, // the number of cores follows below
    {0x6, 0, 0, 0, 0},
    // Hidden: TSC_ADJUST, SGX, HLE, SMEP, INVPCID, RTM, MPX, SMAP, processor trace; PKU, UMIP, shadow stacks,
    // 5 levels, RDPID, MOVDIR, ENQCMD; every speculation control (they are MSRs).
    {0x7, all,
     bit(0) | bit(3) | bit(5) | bit(8) | bit(9) | bit(16) | bit(17) | bit(18) | bit(19) | bit(21) | bit(23) |
         bit(24) | bit(28) | bit(29) | bit(30) | bit(31),
     bit(1) | bit(6) | bit(8) | bit(9) | bit(10) | bit(11) | bit(12) | bit(14),
     bit(2) | bit(3) | bit(4) | bit(8)},
    {0xd, all, all, all, all}, // below: no supervisor states
    {0x80000000, 0, all, all, all},
    // Hidden: SVM, extended APIC, OSVW, IBS, watchdog, topology, performance counters, MWAITX; FFXSR, 1 GiB
    // pages, RDTSCP.
    {0x80000001, all, all, bit(0) | bit(5) | bit(6) | bit(7) | bit(8) | bit(11) | bit(16) | bit(21),
     bit(11) | bit(20) | bit(22) | bit(29) | bit(30) | bit(31) | bit(0) | bit(2) | bit(3) | bit(4) | bit(5) |
         bit(6) | bit(8) | bit(13) | bit(15) | bit(16) | bit(23) | bit(24)},
    {0x80000002, all, all, all, all},
    {0x80000003, all, all, all, all},
    {0x80000004, all, all, all, all},
    {0x80000005, all, all, all, all},
    {0x80000006, all, all, all, all},
    {0x80000007, 0, 0, 0, bit(8)}, // the TSC does not stop
    {0x80000008, 0, 0, 0, 0},
};

const Policy* find_policy(std::uint32_t leaf) {
    for (const Policy& policy : policies) {
        if (policy.leaf == leaf) {
            return &policy;
        }
    }
    return nullptr;
}

// All processors are cores of one package, with one thread each, and no cache is shared. Linux measures a
// processor's delay loop only once for a package.
std::uint32_t core_count() {
    return std::max(pc.local_apics.count, 1U);
}

// Of a local APIC's ID, those that tell the core.
std::uint32_t id_bits() {
    return static_cast<std::uint32_t>(std::bit_width(core_count() - 1));
}

constexpr std::uint32_t cache_type = 0x1f;       // of leaf 4, EAX; 0: there is no further cache
constexpr std::uint32_t cores_by_count = bit(1); // of leaf 0x80000001, ECX: CmpLegacy

// The size of XSAVE's area for these components: it ends with the last of them.
std::uint32_t state_area_bytes(std::uint64_t components) {
    std::uint32_t end = 576; // x87 and SSE, and the header
    for (std::uint32_t component = 2; component < 32; ++component) {
        if (((components >> component) & 1U) != 0) {
            const backend::CpuidLeaf place = backend::host_cpuid(0xd, component);
            end = place.eax + place.ebx > end ? place.eax + place.ebx : end;
        }
    }
    return end;
}

} // namespace

bool is_of_amd() {
    constexpr std::uint32_t auth = 0x68747541; // AuthenticAMD
    constexpr std::uint32_t hygo = 0x6f677948; // HygonGenuine
    const std::uint32_t name = backend::host_cpuid(0, 0).ebx;
    return name == auth || name == hygo;
}

backend::CpuidLeaf guest_cpuid(std::uint32_t leaf, std::uint32_t subleaf) {
    if (const std::optional<backend::CpuidLeaf> answer = interface_leaf(leaf)) {
        return *answer;
    }
    const Policy* const policy = find_policy(leaf);
    if (policy == nullptr) {
        return {};
    }
    backend::CpuidLeaf answer = backend::host_cpuid(leaf, subleaf);
    answer.eax &= policy->eax;
    answer.ebx &= policy->ebx;
    answer.ecx &= policy->ecx;
    answer.edx &= policy->edx;
    switch (leaf) {
    case 0x0:
        answer.eax = highest_leaf;
        break;
    case 0x1:
        answer.ecx &= ~osxsave;
        answer.ecx |= (vcpu.cr4 & cr4_osxsave) != 0 ? osxsave : 0;
        // Linux's processors then do not queue for a spin lock: the next of the queue may not be executing.
        answer.ecx |= hypervisor;
        answer.ebx |= core_count() << 16U;
        answer.ebx |= vcpu.number << 24U; // of its local APIC
        answer.edx |= core_count() > 1 ? several_processors : 0;
        answer.edx |= modelled_here;
        if (has_deadline_timer()) {
            answer.ecx |= deadline_timer;
            answer.edx |= local_apic;
        }
        break;
    case 0x4:
        answer.eax |= (answer.eax & cache_type) == 0 ? 0 : (core_count() - 1) << 26U;
        break;
    case 0x6:
        answer.eax = has_deadline_timer() ? timer_always_runs : 0;
        break;
    case 0x7:
        if (subleaf != 0) {
            return {};
        }
        answer.eax = 0;
        answer.edx |= offered_architectural_capabilities() != 0 ? architectural_capabilities : 0;
        break;
    case 0xd:
        if (subleaf == 0) {
            answer.eax &= static_cast<std::uint32_t>(offered_xcr0_bits());
            answer.ebx = state_area_bytes(vcpu.xcr0); // the machine may have enabled more
            answer.ecx = state_area_bytes(offered_xcr0_bits());
            answer.edx = 0;
        } else if (subleaf == 1) {
            // XSAVEOPT. The size of XSAVEC's area would include the host's supervisor states.
            answer = {.eax = answer.eax & 1U, .ebx = 0, .ecx = 0, .edx = 0};
        } else if (subleaf >= 32 || ((offered_xcr0_bits() >> subleaf) & 1U) == 0) {
            return {};
        }
        break;
    case 0x80000000:
        answer.eax = highest_extended_leaf;
        break;
    case 0x80000001:
        answer.ecx |= is_of_amd() && core_count() > 1 ? cores_by_count : 0;
        break;
    case 0x80000008:
        answer.eax = physical_address_bits | 48U << 8U;
        answer.ecx = is_of_amd() ? (core_count() - 1) | id_bits() << 12U : 0;
        break;
    default:
        break;
    }
    return answer;
}

std::uint64_t offered_cr4_bits() {
    std::uint64_t bits =
        cr4_tsd | cr4_de | cr4_pse | cr4_pae | cr4_pge | cr4_pce | cr4_osfxsr | cr4_osxmmexcpt;
    constexpr std::uint32_t xsave = bit(26);
    if ((backend::host_cpuid(1, 0).ecx & xsave) != 0) {
        bits |= cr4_osxsave;
    }
    if ((backend::host_cpuid(7, 0).ebx & bit(0)) != 0) {
        bits |= cr4_fsgsbase;
    }
    return bits;
}

// Page tables of its own for user mode, and VERW, would cost the guest's kernel much and protect nothing: it
// runs at user mode's level. The host does both for its own sake when it is entered and left.
std::uint64_t offered_architectural_capabilities() {
    constexpr std::uint32_t intel = 0x756e6547; // Genu
    // RDCL_NO, MDS_NO, IF_PSCHANGE_MC_NO, TAA_NO, SBDR_SSDP_NO, FBSDP_NO, PSDP_NO, GDS_NO, RFDS_NO
    constexpr std::uint64_t needs_no_kernel =
        bit(0) | bit(5) | bit(6) | bit(8) | bit(13) | bit(14) | bit(15) | bit(26) | bit(27);
    return backend::host_cpuid(0, 0).ebx == intel ? needs_no_kernel : 0;
}

std::uint64_t offered_xcr0_bits() {
    constexpr std::uint64_t modelled = 0xe7; // x87, SSE, AVX, AVX-512; no bounds, no protection keys
    constexpr std::uint32_t xsave = bit(26);
    if ((backend::host_cpuid(1, 0).ecx & xsave) == 0) {
        return 0;
    }
    return backend::host_cpuid(0xd, 0).eax & modelled;
}

} // namespace previrt
