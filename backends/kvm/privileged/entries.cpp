// SPDX-License-Identifier: BSD-2-Clause
// The functions that entry.S calls for the guest: accesses to ports and registers. A resulting interrupt goes
// through the guest's own IDT.
#include "backends/kvm/privileged/devices.hpp"
#include "backends/kvm/privileged/domain.hpp"
#include "backends/kvm/privileged/processors.hpp"
#include "backends/kvm/privileged/site_frame.hpp"
#include "frontends/x86/devices/port_access.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/instruction_counts.hpp"
#include "inplace-vmm/rewriter.hpp"
#include "inplace-vmm/site_list.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <cstring>

namespace previrt {

Vcpu vcpu; // for dumps, operands and page walks: the processor holds the guest's state

}

namespace previrt::kvm_privileged {

namespace {

constexpr std::uint64_t stub_bytes = 8;

struct PortAccess {
    std::uint16_t port;
    unsigned width;
    bool is_write;
};

PortAccess decode_immediate(std::uint64_t call_end) {
    const KnownSite& site = site_called(call_end, Shape::immediate);
    return {.port = site.instruction().back(),
            .width = site.record.width(),
            .is_write = site.kind() == SiteKind::out};
}

PortAccess decode(const SiteFrame& frame) {
    if ((frame.form & form_immediate) != 0) {
        return decode_immediate(frame.site_end);
    }
    return {.port = static_cast<std::uint16_t>(frame.general[rdx]),
            .width = static_cast<unsigned>(frame.form & form_width) + 1,
            .is_write = (frame.form & form_out) != 0};
}

void access_port(SiteFrame& frame) {
    const PortAccess what = decode(frame);
    std::uint64_t& accumulator = frame.general[rax];
    const SiteKind kind = what.is_write ? SiteKind::out : SiteKind::in;
    ++counters.calls[static_cast<std::uint8_t>(kind)];
    begin_entry(frame.site_end - call_bytes);
    count_entry(previrt::Cause::port_access, static_cast<unsigned>(kind));
    const bool is_of_kvm = is_port_of_kvm(what.port);
    if (what.is_write) {
        (is_of_kvm ? write_port_of_kvm : write_port)(
            what.port, what.width, static_cast<std::uint32_t>(accumulator & width_mask(what.width)));
    } else {
        const std::uint32_t value = (is_of_kvm ? read_port_of_kvm : read_port)(what.port, what.width);
        accumulator = accumulator_after_in(accumulator, value, what.width);
    }
}

void note_registers(const SiteFrame& frame) {
    std::memcpy(vcpu.registers.general, frame.general, sizeof frame.general);
    vcpu.registers.general[rsp] = reinterpret_cast<std::uint64_t>(&frame + 1);
    vcpu.registers.rip = frame.site_end;
    vcpu.registers.rflags = frame.rflags;
    vcpu.interrupt_flag = (frame.rflags & flag_interrupt) != 0;
    vcpu.instruction = frame.site_end;
    vcpu.cpl = 0;
}

} // namespace

extern "C" {
extern const std::uint32_t announcement_port = port_request;
extern const std::uint32_t announcement_request = static_cast<std::uint32_t>(PortRequest::announcement);
extern const std::uint8_t interrupt_stubs[];
void site_accessed(SiteFrame& frame);

void site_accessed(SiteFrame& frame) {
    note_registers(frame);
    take_delivered();
    if ((frame.form & form_register) != 0) {
        access_register(frame);
    } else {
        access_port(frame);
    }
    if ((frame.rflags & flag_interrupt) != 0) {
        if (const std::optional<std::uint8_t> vector = take_interrupt()) {
            frame.return_to = reinterpret_cast<std::uint64_t>(interrupt_stubs) + (*vector * stub_bytes);
        }
    }
    end_cycles();
    tell_monitor();
}
}

const KnownSite& site_called(std::uint64_t call_end, Shape shape) {
    for (const std::size_t call : {call_bytes, absolute_call_bytes}) {
        const KnownSite* const site = find_site(call_end - call);
        if (site != nullptr && site->record.shape() == shape) {
            return *site;
        }
    }
    stop_guest("a call of the VMM from a place that is no site, before", call_end);
}

} // namespace previrt::kvm_privileged
