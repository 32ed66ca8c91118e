// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/processor/control_registers.hpp"

#include "frontends/x86/devices/processor_apic.hpp"
#include "frontends/x86/paging/page_entry.hpp"
#include "frontends/x86/paging/shadow/tables.hpp"
#include "frontends/x86/processor/breakpoints.hpp"
#include "frontends/x86/processor/cpuid.hpp"
#include "frontends/x86/processor/exceptions.hpp"
#include "frontends/x86/processor/extended_state.hpp"
#include "inplace-vmm/backend/processor_state.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt {

namespace {

constexpr std::uint64_t cr0_defined =
    cr0_pe | cr0_mp | cr0_em | cr0_ts | cr0_et | cr0_ne | cr0_wp | cr0_am | cr0_nw | cr0_cd | cr0_pg;

void write_cr0(std::uint64_t value) {
    const bool impossible = ((value & cr0_pg) != 0 && (value & cr0_pe) == 0) ||
                            ((value & cr0_nw) != 0 && (value & cr0_cd) == 0) || (value >> 32U) != 0;
    if (impossible) {
        raise_exception(general_protection, 0);
        return;
    }
    if ((value & cr0_pg) == 0) {
        stop_guest("the guest turns paging off, which is not modelled: CR0", value);
    }
    const std::uint64_t changed = vcpu.cr0 ^ value;
    vcpu.cr0 = (value & cr0_defined) | cr0_et;
    if ((changed & (cr0_ts | cr0_em)) != 0) {
        backend::set_task_switched((value & (cr0_ts | cr0_em)) != 0);
    }
    if ((changed & cr0_wp) != 0) {
        shadow_rebuild();
    }
}

void write_cr3(std::uint64_t value) {
    if (may_load_root(value)) {
        load_root_register(value);
    } else {
        raise_exception(general_protection, 0);
    }
}

void write_cr4(std::uint64_t value) {
    if ((value & ~offered_cr4_bits()) != 0 || (value & cr4_pae) == 0) {
        raise_exception(general_protection, 0);
        return;
    }
    const std::uint64_t changed = vcpu.cr4 ^ value;
    vcpu.cr4 = value;
    if ((changed & (cr4_tsd | cr4_fsgsbase | cr4_osxsave)) != 0) {
        backend::set_extensions(value);
    }
    if ((changed & cr4_osxsave) != 0) {
        if ((value & cr4_osxsave) != 0) {
            backend::write_xcr0(vcpu.xcr0);
        }
        follow_extended_control();
    }
    if ((changed & (cr4_pge | cr4_pse | cr4_pae)) != 0) {
        shadow_flush();
    }
}

} // namespace

bool may_load_root(std::uint64_t value) {
    constexpr std::uint64_t write_through_and_disable = 0x18;
    return (value & ~(frame_mask | write_through_and_disable)) >> 12U == 0;
}

void load_root_register(std::uint64_t value) {
    vcpu.cr3 = value;
    vcpu.descriptors_may_differ = true; // it is most likely another task's
    load_shadow_root();
}

void write_control_register(unsigned number, std::uint64_t value) {
    switch (number) {
    case 0:
        write_cr0(value);
        break;
    case 2:
        vcpu.cr2 = value;
        break;
    case 3:
        write_cr3(value);
        break;
    case 4:
        write_cr4(value);
        break;
    case 8:
        if (value > 15) {
            raise_exception(general_protection, 0);
            return;
        }
        write_task_priority(value);
        break;
    default:
        raise_exception(invalid_opcode);
    }
}

void write_debug_register(unsigned number, std::uint64_t value) {
    constexpr std::uint64_t general_detect = 1U << 13U;
    constexpr std::uint64_t dr6_ones = 0xffff0ff0;
    constexpr std::uint64_t dr7_one = 0x400;
    if (number == 4 || number == 5) {
        if ((vcpu.cr4 & cr4_de) != 0) {
            raise_exception(invalid_opcode);
            return;
        }
        number += 2;
    }
    if (number >= 6 && (value >> 32U) != 0) {
        raise_exception(general_protection, 0);
        return;
    }
    if (number == 7 && (value & general_detect) != 0) {
        stop_guest("DR7.GD is not modelled");
    }
    if (number == 6) {
        vcpu.debug[6] = (value & 0xe00f) | dr6_ones;
        return;
    }
    vcpu.debug[number] = number == 7 ? (value & 0xffff27ffU) | dr7_one : value;
    backend::write_debug_register(number, vcpu.debug[number]);
    note_breakpoints();
}

void write_extended_control(std::uint32_t number, std::uint64_t value) {
    constexpr std::uint64_t x87 = 1;
    constexpr std::uint64_t sse = 2;
    constexpr std::uint64_t avx = 4;
    if ((vcpu.cr4 & cr4_osxsave) == 0) {
        raise_exception(invalid_opcode);
        return;
    }
    const bool impossible = (value & x87) == 0 || ((value & avx) != 0 && (value & sse) == 0) ||
                            (value & ~offered_xcr0_bits()) != 0;
    if (number != 0 || impossible) {
        raise_exception(general_protection, 0);
        return;
    }
    vcpu.xcr0 = value;
    backend::write_xcr0(value);
    follow_extended_control();
}

} // namespace previrt
