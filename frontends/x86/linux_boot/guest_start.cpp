// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/linux_boot/guest_start.hpp"

#include "frontends/x86/devices/machine.hpp"
#include "frontends/x86/firmware/mp_table.hpp"
#include "frontends/x86/linux_boot/guest_image.hpp"
#include "frontends/x86/machine_state.hpp"
#include "frontends/x86/paging/page_entry.hpp"
#include "frontends/x86/paging/shadow/tables.hpp"
#include "frontends/x86/processor/cpuid.hpp"
#include "frontends/x86/processor/descriptors.hpp"
#include "frontends/x86/processor/segment_registers.hpp"
#include "inplace-vmm/backend/kernel_placement.hpp"
#include "inplace-vmm/backend/page_tables.hpp"
#include "inplace-vmm/backend/processor_state.hpp"
#include "inplace-vmm/backend/processors.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <optional>

namespace previrt {

namespace {

void start_vcpu(const BootState& state) {
    constexpr std::uint16_t code = BootState::code_selector;
    constexpr std::uint16_t data = BootState::data_selector;
    vcpu.cr0 = cr0_pe | cr0_et | cr0_pg;
    vcpu.cr4 = cr4_pae;
    vcpu.efer = efer_lme | efer_lma;
    vcpu.cr3 = state.root;
    vcpu.debug[6] = 0xffff0ff0;
    vcpu.debug[7] = 0x400;
    vcpu.page_attributes = 0x0007040600070406;
    vcpu.misc_enable = 1;
    vcpu.xcr0 = 1;
    vcpu.cs = code;
    vcpu.ss = data;
    vcpu.registers.rip = state.entry;
    vcpu.registers.rflags = flag_reserved_one;
    vcpu.registers.general[rsi] = state.boot_params;
    vcpu.registers.general[rsp] = state.stack_top;
    load_shadow_root();
    load_global_table(state.descriptors, state.descriptors_limit);
    vcpu.kernel_selector[segment_es] = data;
    vcpu.kernel_selector[segment_ds] = data;
    for (const unsigned segment : {segment_es, segment_ds, segment_fs, segment_gs}) {
        backend::load_segment(segment, 0);
    }
}

// The guest's first tables map the kernel where it lies, and its own tables will map it where it was linked.
void place_kernel() {
    KernelPlacement& kernel = machine_state.kernel;
    if (kernel.link_delta == 0) {
        return;
    }
    const backend::KernelImage image{
        .address = kernel.physical + kernel.link_delta, .bytes = kernel.bytes, .physical = kernel.physical};
    if (const std::optional<backend::AddressRange> reserved = backend::map_kernel_image(image)) {
        kernel.fixed = image;
        kernel.reserved = *reserved;
    }
}

} // namespace

void load_guest(std::span<const std::uint8_t> package) {
    const BootState state = place_guest(package);
    rewrite_kernel();
    start_vcpu(state);
    place_kernel();
    pc.start_apics(backend::processor_count());
    const backend::CpuidLeaf identity = guest_cpuid(1, 0);
    write_mp_table({.count = pc.local_apics.count, .signature = identity.eax, .features = identity.edx});
}

bool alias_is_wanted(std::uint64_t address) {
    const std::uint64_t here = address + kernel_link_delta();
    const bool is_in_vmm = here >= backend::vmm_address;
    if (kernel_link_delta() == 0 || !is_in_vmm) {
        return false;
    }
    return shadow_add_alias(address & ~(large_page_bytes - 1));
}

} // namespace previrt
