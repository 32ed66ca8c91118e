// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/processor/msr.hpp"

#include "frontends/x86/devices/processor_apic.hpp"
#include "frontends/x86/paging/shadow/tables.hpp"
#include "frontends/x86/processor/cpuid.hpp"
#include "frontends/x86/processor/stolen_time.hpp"
#include "inplace-vmm/backend/processor_state.hpp"
#include "inplace-vmm/backend/segment_bases.hpp"
#include "inplace-vmm/processor.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt {

namespace {

enum Msr : std::uint32_t {
    time_stamp_counter = 0x10,
    platform_id = 0x17,
    apic_base = 0x1b,
    microcode_revision = 0x8b,
    architectural_capabilities = 0x10a,
    sysenter_cs = 0x174,
    sysenter_esp = 0x175,
    sysenter_eip = 0x176,
    misc_enable = 0x1a0,
    debug_control = 0x1d9,
    page_attributes = 0x277,
    time_stamp_deadline = 0x6e0,
    efer = 0xc0000080,
    star = 0xc0000081,
    lstar = 0xc0000082,
    cstar = 0xc0000083,
    syscall_mask = 0xc0000084,
    fs_base = 0xc0000100,
    gs_base = 0xc0000101,
    kernel_gs_base = 0xc0000102,
    amd_hardware_configuration = 0xc0010015,
    amd_northbridge_configuration = 0xc001001f,
    amd_interrupt_pending = 0xc0010055, // for messages to a chipset in C1E: there are none
};

// The active base is the back-end's kernel base, unless swapgs exchanged the two.
bool is_users(bool active) {
    return active == (vcpu.gs_exchanged != 0);
}

bool write_efer(std::uint64_t value) {
    constexpr std::uint64_t defined = efer_sce | efer_lme | efer_lma | efer_nxe;
    if ((value & ~defined) != 0 || ((value ^ vcpu.efer) & efer_lme) != 0) {
        return false;
    }
    const std::uint64_t changed = vcpu.efer ^ value;
    vcpu.efer = (value & ~std::uint64_t{efer_lma}) | (vcpu.efer & efer_lma);
    if ((changed & efer_nxe) != 0) {
        shadow_rebuild();
    }
    return true;
}

bool write_page_attributes(std::uint64_t value) {
    for (unsigned i = 0; i < 8; ++i) {
        const std::uint64_t type = (value >> (8 * i)) & 0xffU;
        if (type > 7 || type == 2 || type == 3) {
            return false;
        }
    }
    vcpu.page_attributes = value;
    return true;
}

} // namespace

std::optional<std::uint64_t> read_msr(std::uint32_t number) {
    switch (number) {
    case time_stamp_counter:
        return processor::read_time_stamp();
    case platform_id:
    case microcode_revision:
    case amd_hardware_configuration:
    case amd_interrupt_pending:
        return 0;
    case amd_northbridge_configuration:
        return vcpu.northbridge_configuration;
    case apic_base:
        return read_apic_base();
    case architectural_capabilities: {
        const std::uint64_t offered = offered_architectural_capabilities();
        return offered != 0 ? std::optional(offered) : std::nullopt;
    }
    case time_stamp_deadline:
        return has_deadline_timer() ? std::optional(read_deadline()) : std::nullopt;
    case sysenter_cs:
        return vcpu.sysenter_cs;
    case sysenter_esp:
        return vcpu.sysenter_esp;
    case sysenter_eip:
        return vcpu.sysenter_eip;
    case misc_enable:
        return vcpu.misc_enable;
    case debug_control:
        return vcpu.debug_control;
    case page_attributes:
        return vcpu.page_attributes;
    case msr_stolen_time:
        return read_stolen_time_area();
    case efer:
        return vcpu.efer;
    case star:
        return vcpu.star;
    case lstar:
        return vcpu.lstar;
    case cstar:
        return vcpu.cstar;
    case syscall_mask:
        return vcpu.syscall_mask;
    case fs_base:
        return backend::read_fs_base();
    case gs_base:
        return backend::read_gs_base(is_users(true));
    case kernel_gs_base:
        return backend::read_gs_base(is_users(false));
    default:
        return {};
    }
}

bool write_msr(std::uint32_t number, std::uint64_t value) {
    switch (number) {
    case sysenter_esp:
    case sysenter_eip:
    case lstar:
    case cstar:
    case fs_base:
    case gs_base:
    case kernel_gs_base:
        if (!is_canonical(value)) {
            return false;
        }
        break;
    default:
        break;
    }
    switch (number) {
    case time_stamp_counter:
        stop_guest("a write to the time-stamp counter is not modelled");
    case apic_base:
        return write_apic_base(value);
    case time_stamp_deadline:
        if (!has_deadline_timer()) {
            return false;
        }
        write_deadline(value);
        return true;
    case microcode_revision: // a processor's driver writes it before it reads
    case misc_enable:
        vcpu.misc_enable = number == misc_enable ? value : vcpu.misc_enable;
        return true;
    case sysenter_cs:
        vcpu.sysenter_cs = value;
        return true;
    case sysenter_esp:
        vcpu.sysenter_esp = value;
        return true;
    case sysenter_eip:
        vcpu.sysenter_eip = value;
        return true;
    case debug_control:
        return value == 0;
    case page_attributes:
        return write_page_attributes(value);
    case amd_northbridge_configuration: {
        // No device here has any.
        constexpr std::uint64_t extended_configuration = std::uint64_t{1} << 46U;
        if ((value & ~extended_configuration) != 0) {
            return false;
        }
        vcpu.northbridge_configuration = value;
        return true;
    }
    case msr_stolen_time:
        return write_stolen_time_area(value);
    case efer:
        return write_efer(value);
    case star:
        vcpu.star = value;
        return true;
    case lstar:
        vcpu.lstar = value;
        return true;
    case cstar:
        vcpu.cstar = value;
        return true;
    case syscall_mask:
        vcpu.syscall_mask = value & 0xffffffffU;
        return true;
    case fs_base:
        backend::write_fs_base(value);
        return true;
    case gs_base:
        backend::write_gs_base(is_users(true), value);
        return true;
    case kernel_gs_base:
        backend::write_gs_base(is_users(false), value);
        return true;
    default:
        return false;
    }
}

} // namespace previrt
